"""Resource types that a template may hold and that this machine does not run, with what that leaves open."""

from __future__ import annotations

from collections.abc import Mapping

NOT_RUN_LOCALLY: Mapping[str, str] = {
    "AWS::ApiGatewayV2::Stage": "throttling and access logs of the API",
    "AWS::CloudWatch::Alarm": "alarms",
    "AWS::CloudWatch::CompositeAlarm": "alarms",
    "AWS::CloudWatch::Dashboard": "dashboards",
    "AWS::Cognito::UserPool": "sign-in (tokens come from a development issuer)",
    "AWS::Cognito::UserPoolClient": "sign-in (tokens come from a development issuer)",
    "AWS::Cognito::UserPoolDomain": "sign-in (tokens come from a development issuer)",
    "AWS::IAM::ManagedPolicy": "permissions of functions",
    "AWS::IAM::Policy": "permissions of functions",
    "AWS::IAM::Role": "permissions of functions",
    "AWS::IAM::RolePolicy": "permissions of functions",
    "AWS::KMS::Alias": "encryption at rest",
    "AWS::KMS::Key": "encryption at rest",
    "AWS::Lambda::EventInvokeConfig": "retries of asynchronous calls",
    "AWS::Lambda::LayerVersion": "layers (packages come from this environment)",
    "AWS::Lambda::Permission": "permissions to invoke functions",
    "AWS::Logs::LogGroup": "log retention (logs are on this terminal)",
    "AWS::Logs::MetricFilter": "metrics from logs",
    "AWS::S3::BucketPolicy": "bucket policies",
    "AWS::SNS::TopicPolicy": "topic policies",
}
