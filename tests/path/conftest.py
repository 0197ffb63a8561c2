"""Each test gets a shop of its own; nothing that went wrong unnoticed lets it pass."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.path.shop import Shop

OpenShop = Callable[..., Shop]


@contextmanager
def opened(shop: Shop) -> Iterator[Shop]:
    logger = logging.getLogger("postroom")
    before = logger.level, logger.propagate
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(shop.listener)
    try:
        yield shop
        shop.close()
    finally:
        logger.removeHandler(shop.listener)
        logger.setLevel(before[0])
        logger.propagate = before[1]


@pytest.fixture
def open_shop() -> Iterator[OpenShop]:
    """Open a shop with changes to the template's resources, or with other entries for subscribers."""
    with ExitStack() as stack:
        yield lambda *changes, **entries: stack.enter_context(opened(Shop(*changes, **entries)))


@pytest.fixture
def shop(open_shop: OpenShop) -> Shop:
    return open_shop()
