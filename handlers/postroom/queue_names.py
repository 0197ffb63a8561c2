"""What a subscriber's queues are called: found from its name, so that nothing keeps a list of them.

A check holds the template to it.
"""

DEAD_LETTERS = "-dead-letters"
FIFO = ".fifo"
"""docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html"""


def work_queue(prefix: str, subscriber: str, *, ordered: bool = False) -> str:
    """`prefix` is the stack's, dash included."""
    return f"{prefix}{subscriber}{FIFO if ordered else ''}"


def dead_letter_queue(prefix: str, subscriber: str, *, ordered: bool = False) -> str:
    """A FIFO queue's dead letters are in a FIFO queue, too."""
    return f"{prefix}{subscriber}{DEAD_LETTERS}{FIFO if ordered else ''}"
