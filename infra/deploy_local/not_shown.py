"""What a deployment to MiniStack does not show, and the command that shows it on AWS."""

from __future__ import annotations

NOT_SHOWN: tuple[tuple[str, str], ...] = (
    (
        "IAM, as AWS judges it: `make check` compares each role with the calls that were seen",
        "aws logs tail LOG-GROUP --filter-pattern AccessDenied",
    ),
    (
        "that API Gateway makes the template's routes: MiniStack gets them by API calls",
        "aws apigatewayv2 get-routes --api-id ID",
    ),
    (
        "the stream mapping's partial failures, bisecting and age limit, which MiniStack leaves aside",
        "aws sqs receive-message --queue-url RELAY-FAILURES",
    ),
    (
        "that the arm64 build runs: here it is another, and arm64 is told by ELF headers and wheel tags",
        "aws lambda invoke --function-name NAME --payload fileb://event.json out.json",
    ),
    (
        "alarms: MiniStack has no metric math, and no metrics of queues and functions",
        "aws cloudwatch describe-alarms --state-value INSUFFICIENT_DATA",
    ),
)
