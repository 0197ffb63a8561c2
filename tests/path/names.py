"""How the template names what belongs to a subscriber."""


def resource_of(subscriber: str, suffix: str) -> str:
    """`second-look`, `Queue` → `SecondLookQueue`: a logical id, which has no dashes."""
    return f"{subscriber.title().replace('-', '')}{suffix}"
