"""Message group ids and deduplication ids: what SQS and SNS take as one.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html and
https://docs.aws.amazon.com/sns/latest/api/API_Publish.html: 1 to 128 ASCII letters, digits and punctuation.
"""

import re

_ID = re.compile(r"[A-Za-z0-9!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]{1,128}")


def is_valid(text: str) -> bool:
    return _ID.fullmatch(text) is not None
