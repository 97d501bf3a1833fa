// Package pb is KEDA's protocol of external scalers, generated from externalscaler.proto by make
// generate. KEDA's own package has the same, but comes with the requirements of all its scalers.
package pb
