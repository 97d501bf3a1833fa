// Package keda tests Plimsoll beside KEDA: its operator and its metrics server, built from their module, run on the
// development cluster. make test-keda builds them. The tests are no part of make test, as nothing else needs KEDA.
package keda
