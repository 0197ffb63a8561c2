"""`sam deploy` rehearsed on this machine: MiniStack in place of AWS, and the built functions in it."""
