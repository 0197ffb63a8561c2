"""What an operator is told instead of a traceback."""


class Refused(Exception):
    """It is not done, for a reason that the operator can do something about."""


class NoStack(Exception):
    """There is no stack to work on: it is not running, not named right, or out of reach."""
