"""Takes the example business out of a clone, and gives what is left the adopter's name."""
