package triggers

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
)

// The author of a metric chooses the server that a scaler connects to, and some drivers send files, or the token of the
// pod, to their server. The token of plimsoll-scalers may read all Secrets.

// parameter begins the name of a parameter in a connection string: in a URL, in fields, and as ODBC has them.
const parameter = `(?i)(?:^|[?&;:\s])\s*`

// refusedParameters match what makes the driver of a type read files, or request a token.
var refusedParameters = map[string]*regexp.Regexp{
	"mysql":      regexp.MustCompile(parameter + `(allowAllFiles)\s*=`),
	"postgresql": regexp.MustCompile(parameter + `(sslcert|sslkey|sslrootcert|passfile|servicefile)\s*=`),
	"rabbitmq":   regexp.MustCompile(parameter + `(cacertfile|certfile|keyfile)\s*=`),
	"mssql": regexp.MustCompile(parameter +
		`(certificate|serverCertificate|clientCertPath|tokenFilePath|krb5-[a-z]*file)\s*=`),
	"mongodb": regexp.MustCompile(parameter +
		`(tlsCAFile|tlsCertificateFile|tlsCertificateKeyFile|tlsPrivateKeyFile|sslCertificateAuthorityFile|` +
		`sslClientCertificateKeyFile|sslClientKeyFile|authMechanismProperties\s*=[^&]*ENVIRONMENT)\s*[=:]`),
}

// refusedOf returns the parameter in the value that the type refuses; empty if there is none.
func refusedOf(trigger, value string) string {
	pattern := refusedParameters[trigger]
	if pattern == nil {
		return ""
	}
	texts := []string{value}
	// Drivers unescape the parameters of URLs.
	for _, unescape := range []func(string) (string, error){url.QueryUnescape, url.PathUnescape} {
		if text, err := unescape(value); err == nil {
			texts = append(texts, text)
		}
	}
	for _, text := range texts {
		if found := pattern.FindStringSubmatch(text); found != nil {
			name, _, _ := strings.Cut(found[1], "=")
			return name
		}
	}
	return ""
}

// Check refuses a trigger by its type and metadata alone.
func Check(trigger string, metadata map[string]string) error {
	if _, err := For(trigger); err != nil {
		return err
	}
	const resources, kind = "kubernetes-resource", "resourceKind"
	if trigger == resources && strings.EqualFold(strings.TrimSpace(metadata[kind]), "Secret") {
		return fmt.Errorf("metadata: %s: Secret is refused: the metric would show it", kind)
	}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if refused := refusedOf(trigger, metadata[key]); refused != "" {
			return refusal("metadata: "+key, refused)
		}
	}
	return nil
}

// checkConfig refuses what Check does, and credentials and values of the environment likewise.
func checkConfig(config *scalersconfig.ScalerConfig) error {
	if err := Check(config.TriggerType, config.TriggerMetadata); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(config.AuthParams)) {
		if refused := refusedOf(config.TriggerType, config.AuthParams[key]); refused != "" {
			return refusal("authenticationRef: "+key, refused)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(config.TriggerMetadata)) {
		// KEDA reads the variable that the value of such a key names.
		value, isVariable := config.ResolvedEnv[config.TriggerMetadata[key]]
		if !isVariable || !strings.HasSuffix(key, "FromEnv") {
			continue
		}
		if refused := refusedOf(config.TriggerType, value); refused != "" {
			return refusal("metadata: "+key, refused)
		}
	}
	return nil
}

func refusal(field, refused string) error {
	return fmt.Errorf("%s: %s is refused: the scaler would read files or the token of plimsoll-scalers", field, refused)
}
