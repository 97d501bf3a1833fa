// Package admission tests plimsoll admission-controller as a process beside a real API server: as the service account
// of config/ with only its permissions, registered by URL, since nothing here resolves Services.
package admission
