"""What a subscriber's queues are called: found from its name, so that nothing keeps a list of them.

A check holds the template to it.
"""

DEAD_LETTERS = "-dead-letters"


def work_queue(prefix: str, subscriber: str) -> str:
    """`prefix` is the stack's, dash included."""
    return f"{prefix}{subscriber}"


def dead_letter_queue(prefix: str, subscriber: str) -> str:
    return f"{work_queue(prefix, subscriber)}{DEAD_LETTERS}"
