"""A caller of the deployed API: a user of the stack's Cognito pool, signed in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from infra.deploy_local.ministack import REGION

PASSWORD = "Correct-Horse-9-Battery"  # noqa: S105 (of a user that lives for a minute)


@dataclass(frozen=True)
class Users:
    """A user pool and its client, by a `cognito-idp` client."""

    cognito: Any
    pool: str
    app: str

    @property
    def issuer(self) -> str:
        """docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-tokens-verifying-a-jwt.html"""
        return f"https://cognito-idp.{REGION}.amazonaws.com/{self.pool}"

    def token(self, email: str) -> str:
        """Make a user as an administrator does, and sign in. Returns an access token."""
        self.cognito.admin_create_user(UserPoolId=self.pool, Username=email, MessageAction="SUPPRESS")
        self.cognito.admin_set_user_password(
            UserPoolId=self.pool, Username=email, Password=PASSWORD, Permanent=True
        )
        answer = self.cognito.initiate_auth(
            ClientId=self.app,
            AuthFlow="USER_PASSWORD_AUTH",
            AuthParameters={"USERNAME": email, "PASSWORD": PASSWORD},
        )
        return str(answer["AuthenticationResult"]["AccessToken"])
