"""What the house rules leave to general linters, broken: each with the linter's own name for it."""

from __future__ import annotations

from infra.checks.mutants.changes import Change, Mutant, add, put, unset
from infra.checks.mutants.defences import POLICIES, TRUST, without

BUCKET = "InvoiceBucket"
PUBLIC_ACCESS = "PublicAccessBlockConfiguration"

CFN_LINT: dict[str, tuple[str, Change]] = {
    "misspelt-property": ("E3002", put("LoyaltyQueue", "VisibilityTimout", 180)),
    "reference-to-nothing": ("E1020", put("LoyaltySubscription", "TopicArn", {"Ref": "NoTopic"})),
    "no-such-retention": ("E3030", put("LoyaltyLogs", "RetentionInDays", 31)),
    "retired-runtime": ("E2531", put("CheckoutFunction", "Runtime", "python3.7")),
    "partition-by-heart": (
        "I3042",
        put(
            "LoyaltyRole",
            *POLICIES,
            1,
            "Resource",
            {"Fn::Sub": "arn:aws:sqs:*:*:${AWS::StackName}-*"},
        ),
    ),
    "undecided-what-becomes-of-the-logs": ("I3011", without("LoyaltyLogs", "DeletionPolicy")),
}
CHECKOV: dict[str, tuple[str, Change]] = {
    "public-invoices": ("CKV_AWS_20", put(BUCKET, "AccessControl", "PublicRead")),
    "public-acls-taken": ("CKV_AWS_53", put(BUCKET, PUBLIC_ACCESS, "BlockPublicAcls", False)),
    "public-policies-taken": ("CKV_AWS_54", put(BUCKET, PUBLIC_ACCESS, "BlockPublicPolicy", False)),
    "public-policies-obeyed": ("CKV_AWS_56", put(BUCKET, PUBLIC_ACCESS, "RestrictPublicBuckets", False)),
    "topic-in-the-clear": ("CKV_AWS_26", unset("EventsTopic", "KmsMasterKeyId")),
    "function-on-the-open-web": (
        "CKV_AWS_258",
        add("Open", "AWS::Lambda::Url", {"AuthType": "NONE", "TargetFunctionArn": "arn:aws:lambda:x"}),
    ),
    "function-for-any-api": ("CKV_AWS_364", unset("CheckoutFunctionCheckoutPermission", "SourceArn")),
}
CFRIPPER: dict[str, tuple[str, Change]] = {
    "overwritten-invoices-are-lost": ("S3ObjectVersioningRule", unset(BUCKET, "VersioningConfiguration")),
    "makes-itself-admin": (
        "PrivilegeEscalationRule",
        put("LoyaltyRole", *POLICIES, 3, "Action", ["dynamodb:PutItem", "iam:AttachRolePolicy"]),
    ),
    "role-for-another-account": (
        "PartialWildcardPrincipalRule",
        put("LoyaltyRole", *TRUST, {"AWS": "arn:aws:iam::999999999999:root"}),
    ),
}

MUTANTS = [
    Mutant(name, f"{tool} {rule}", change)
    for tool, changes in (("cfn-lint", CFN_LINT), ("checkov", CHECKOV), ("cfripper", CFRIPPER))
    for name, (rule, change) in changes.items()
]
