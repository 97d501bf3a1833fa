package triggers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
)

// The author of a metric chooses the server that a scaler connects to, and some scalers send files, or tokens of the
// pod, to their server. The token of plimsoll-scalers may read all Secrets.

// Check refuses a trigger by its type and metadata alone.
func Check(trigger string, metadata map[string]string) error {
	if _, err := For(trigger); err != nil {
		return err
	}
	const resources, kind = "kubernetes-resource", "resourceKind"
	if trigger == resources && strings.EqualFold(strings.TrimSpace(metadata[kind]), "Secret") {
		return fmt.Errorf("metadata: %s: Secret is refused: the metric would show it", kind)
	}
	// The scalers for Google Cloud read the file that this variable names. The one for Prometheus has it too.
	const file = "credentialsFromEnvFile"
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if strings.HasPrefix(key, file) {
			return refusal("metadata", key)
		}
	}
	return nil
}

// checkConfig refuses what Check does, and connection strings.
func checkConfig(config *scalersconfig.ScalerConfig) error {
	if err := Check(config.TriggerType, config.TriggerMetadata); err != nil {
		return err
	}
	if connection := connections[config.TriggerType]; connection != nil {
		return connection(config)
	}
	return nil
}

func refusal(field, refused string) error {
	return fmt.Errorf("%s: %s is refused: the scaler would read files, or use the identity, of plimsoll-scalers",
		field, refused)
}
