"""Signing up: one account for each caller, however often the button is pressed."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from ..postroom.acceptance import Birth, Intent, Work
from ..postroom.bodies import Body
from ..postroom.problems import Problem
from ..postroom.texts import Filled, Pattern
from .cart import MAX_EMAIL_CHARACTERS
from .customers import (
    CUSTOMER_SIGNED_UP,
    Customer,
    CustomerSignedUp,
    aggregate_of,
    customer_id,
    customer_key,
)
from .receipts import ADDRESS_PATTERN, is_address


class SignUp(Body):
    name: Annotated[Filled, Field(max_length=100)]
    email: Annotated[Filled, Field(max_length=MAX_EMAIL_CHARACTERS), Pattern(ADDRESS_PATTERN)]

    @field_validator("email")
    @classmethod
    def _is_an_address(cls, email: str) -> str:
        if not is_address(email):
            raise PydanticCustomError("address", "must be an e-mail address")
        return email


def _signed_up_already() -> Problem:
    return Problem(409, "signed_up", "You have signed up before, with other details. Nothing was changed.")


def _customer(intent: Intent[SignUp], _settled: None, now: datetime) -> Birth:
    customer = Customer(intent.id, intent.payload.name, intent.payload.email)
    event = CUSTOMER_SIGNED_UP.new(
        aggregate_of(customer.id),
        CustomerSignedUp(customer_id=customer.id),
        sequence=1,
        time=now,
        owner=intent.caller,
        trace=intent.trace,
    )
    return Birth(event, customer.attributes)


SIGN_UP: Work[SignUp, None] = Work(
    route="POST /signup",
    model=SignUp,
    key=customer_key,
    settle=lambda _intent: None,
    undo=lambda _settled, _winner: None,
    build=_customer,
    identify=lambda caller, _route, _key: customer_id(caller),
    other_payload=_signed_up_already,
    summary="Sign up",
    refusals={409: "The caller has signed up before, with other details."},
)
