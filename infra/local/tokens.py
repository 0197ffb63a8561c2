"""Development tokens, and the check that an HTTP API's JWT authorizer makes of a token."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

LIFETIME_SECONDS = 24 * 3600
_HEADER = {"alg": "RS256", "typ": "JWT"}
"""The authorizer supports RSA-based algorithms only
(https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-jwt-authorizer.html)."""


class UnauthorizedError(Exception):
    """A token that the authorizer would not accept."""


def new_key() -> RSAKey:
    """Takes a fifth of a second."""
    return RSAKey.generate_key(2048)


@cache
def own_key() -> RSAKey:
    """This process's, made at first use (not every run has callers) and kept nowhere."""
    return new_key()


@dataclass(frozen=True)
class Issuer:
    """Stands in for the token issuer that the template names."""

    name: str
    audience: Sequence[str]
    find_key: Callable[[], RSAKey] = own_key

    @property
    def key(self) -> RSAKey:
        return self.find_key()

    def token(self, subject: str, *, lifetime: float = LIFETIME_SECONDS, **claims: Any) -> str:
        """Return a signed token for `subject` that is valid from now for `lifetime` seconds."""
        now = int(time.time())
        body = {
            "iss": self.name,
            "aud": self.audience[0],
            "sub": subject,
            "iat": now,
            "exp": now + int(lifetime),
        }
        return jwt.encode(_HEADER, {**body, **claims}, self.key, algorithms=["RS256"])

    def claims(self, token: str) -> Mapping[str, Any]:
        """Return the verified claims of `token`. Raises `UnauthorizedError` naming the claim at fault."""
        try:
            claims = jwt.decode(token, self.key, algorithms=["RS256"]).claims
        except (JoseError, ValueError) as error:
            raise UnauthorizedError(str(error)) from error
        self._check(claims, time.time())
        return claims

    def _check(self, claims: Mapping[str, Any], now: float) -> None:
        audience = claims.get("aud") or claims.get("client_id")
        audiences = audience if isinstance(audience, list) else [audience]
        if claims.get("iss") != self.name:
            raise UnauthorizedError("iss")
        if not set(audiences) & set(self.audience):
            raise UnauthorizedError("aud")
        if not _number(claims.get("exp"), 0) > now:
            raise UnauthorizedError("exp")
        for claim in ("nbf", "iat"):
            if _number(claims.get(claim), now) > now:
                raise UnauthorizedError(claim)


def _number(value: Any, otherwise: float) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else otherwise
