"""The mail that greets a new customer."""

from datetime import datetime

from .customers import Customer
from .ports import Mail


def welcome_for(customer: Customer, signed_up_at: datetime) -> Mail:
    text = f"Dear {customer.name},\n\nwelcome. Your account is ready.\n"
    return Mail(to=customer.email, subject="Welcome", text=text, date=signed_up_at)


def welcome_key(customer: Customer) -> str:
    """By customer, not by event: whatever tells us of a customer, there is one welcome."""
    return f"welcome:{customer.id}"
