// Package pb has KEDA's protocol of external scalers, generated from externalscaler.proto by make generate. KEDA's own
// package has the same types, but comes with the requirements of all its scalers.
package pb
