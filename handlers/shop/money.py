"""Money is an integer in the minor unit: ₦1 = 100 kobo."""

CURRENCY = "NGN"


def naira(kobo: int) -> str:
    """2,042,500 kobo → `₦20,425`; 2,042,550 kobo → `₦20,425.50`."""
    return f"{'-' if kobo < 0 else ''}₦{_grouped(abs(kobo))}"


def plain_naira(kobo: int) -> str:
    """The same for fonts without the naira sign: `NGN 20,425`."""
    return f"{CURRENCY} {'-' if kobo < 0 else ''}{_grouped(abs(kobo))}"


def _grouped(kobo: int) -> str:
    whole, rest = divmod(kobo, 100)
    return f"{whole:,}.{rest:02}" if rest else f"{whole:,}"
