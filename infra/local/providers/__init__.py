"""The outside world of the shop, on this machine: a mail server and a card gateway, each with a switch."""
