"""A shop whose jobs die, until somebody mends what they die of; and what AWS's own redrive does about it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from handlers import queue_receipts
from handlers.postroom.aws.queue_entry import queue_handler
from handlers.postroom.errors import Permanent
from handlers.shop.ports import Mail
from tests.path.conftest import OpenShop
from tests.path.mailer import Killed
from tests.path.names import resource_of
from tests.path.shop import Shop, with_policy

EVENT = "order-1001-paid"
POINTS = 204
ATTEMPTS = 3
ALWAYS = 1_000_000


@dataclass
class Post:
    """A mail provider that does something else first, until that is mended."""

    shop: Shop | None = None
    troubles: list[Callable[[Mail], None]] = field(default_factory=list)

    def send(self, mail: Mail, *, key: str) -> str:
        for trouble in self.troubles:
            trouble(mail)
        assert self.shop is not None
        return self.shop.mailer.send(mail, key=key)


def refuse(_: Mail) -> None:
    raise Permanent("the address is not one")


def die(_: Mail) -> None:
    raise Killed


def redriven_after(queue: str, count: int) -> dict[str, Any]:
    """A queue that gives up after so many receives: a crash shows only when its timeout is over."""
    target = {"Fn::GetAtt": [f"{queue.removesuffix('Queue')}DeadLetterQueue", "Arn"]}
    return {queue: {"RedrivePolicy": {"deadLetterTargetArn": target, "maxReceiveCount": count}}}


def open_mortal_shop(open_shop: OpenShop, post: Post) -> Shop:
    """Receipts are tried three times; queues give up after six receives."""
    receipts = queue_handler(with_policy(queue_receipts.handler, attempts=ATTEMPTS), provider=lambda _: post)
    changes = {**redriven_after("ReceiptsQueue", 6), **redriven_after("LoyaltyQueue", 6)}
    post.shop = open_shop(changes, receipts=receipts)
    return post.shop


def redrive(shop: Shop, subscriber: str, **more: Any) -> dict[str, Any]:
    """What `aws sqs start-message-move-task` does, until its end and that of all that follows."""
    sqs = shop.aws.session().client("sqs")
    arn = dead_letters_arn(shop, subscriber)
    sqs.start_message_move_task(SourceArn=arn, **more)
    shop.run_until_idle()
    (task,) = sqs.list_message_move_tasks(SourceArn=arn)["Results"]
    return dict(task)


def dead_letters_arn(shop: Shop, subscriber: str) -> str:
    return shop.aws.sqs.queue(shop.stack.ref(resource_of(subscriber, "DeadLetterQueue"))).arn
