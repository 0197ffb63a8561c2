"""Snapshots that nobody starts from, and versions that stay behind their function."""

from infra.checks.mutants.changes import Change, Mutant, Resources, put

PUBLISHED = {"ApplyOn": "PublishedVersions"}


def _called_by_itself(function: str) -> Change:
    """Every route that leads to the function's alias leads to the function."""

    def change(resources: Resources) -> None:
        for path in resources["Api"]["Properties"]["Body"]["paths"].values():
            for operation in path.values():
                uri = operation.get("x-amazon-apigateway-integration", {}).get("uri", {})
                if f"{{{function}Alias" in uri.get("Fn::Sub", ""):
                    uri["Fn::Sub"] = uri["Fn::Sub"].replace(f"{function}Aliaslive", f"{function}.Arn")

    return change


def _forgetting(function: str, reference: str) -> Change:
    """The version's description no longer names what its function refers to."""

    def change(resources: Resources) -> None:
        (version,) = (name for name in resources if name.startswith(f"{function}Version"))
        description = resources[version]["Properties"]["Description"]
        description["Fn::Sub"] = description["Fn::Sub"].replace(f"${{{reference}}}", "")

    return change


SNAPSHOT, VERSION = "snapshot_is_called_at_an_alias", "version_names_what_its_function_takes"

MUTANTS = [
    Mutant(
        "snapshot-of-a-consumer-that-nobody-calls", SNAPSHOT, put("LoyaltyFunction", "SnapStart", PUBLISHED)
    ),
    Mutant(
        "snapshot-of-a-schedule-that-nobody-calls", SNAPSHOT, put("SweepFunction", "SnapStart", PUBLISHED)
    ),
    Mutant("snapshot-of-a-request-that-nobody-calls", SNAPSHOT, _called_by_itself("CheckoutFunction")),
    Mutant("version-of-another-card-gateway", VERSION, _forgetting("CheckoutFunction", "CardsUrl")),
    Mutant("version-of-another-table", VERSION, _forgetting("JobsFunction", "JobsTable")),
    Mutant("version-of-another-role", VERSION, _forgetting("WalletFunction", "WalletRole.RoleId")),
    Mutant("version-without-a-snapshot", VERSION, _forgetting("CheckoutFunction", "SnapStart")),
]
