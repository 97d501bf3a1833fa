package triggers

import (
	"strings"
	"testing"

	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
)

// The token of plimsoll-scalers must not get to a server that the author of a metric chose.
func TestRefuses(t *testing.T) {
	for value, c := range map[string]struct{ trigger, want string }{
		"u:p@tcp(db:3306)/x?allowAllFiles=true":                        {"mysql", "allowAllFiles"},
		"u:p@tcp(db:3306)/x?parseTime=true&allowAllFiles=1":            {"mysql", "allowAllFiles"},
		"u:p@tcp(db:3306)/x?parseTime=true":                            {"mysql", ""},
		"host=db sslrootcert=/var/run/secrets/token":                   {"postgresql", "sslrootcert"},
		"sslkey = '/a' host=db":                                        {"postgresql", "sslkey"},
		"postgres://u:p@db/x?%73slcert=/a":                             {"postgresql", "sslcert"},
		"postgres://u:p@db/x?sslmode=require&passfile=/a":              {"postgresql", "passfile"},
		"host=db sslmode=verify-full password=a":                       {"postgresql", ""},
		"sqlserver://u:p@db?certificate=/a":                            {"mssql", "certificate"},
		"server=db;TokenFilePath=/a;fedauth=ActiveDirectoryWorkloadId": {"mssql", "TokenFilePath"},
		"odbc:server=db;krb5-keytabfile={/a}":                          {"mssql", "krb5-keytabfile"},
		"sqlserver://u:p@db?database=x&TrustServerCertificate=true":    {"mssql", ""},
		"mongodb://db/?tlsCAFile=/a":                                   {"mongodb", "tlsCAFile"},
		"mongodb://db/?tls=true&tlscertificatekeyfile=/a":              {"mongodb", "tlscertificatekeyfile"},
		"mongodb://db/?authMechanismProperties=ENVIRONMENT:k8s":        {"mongodb", "authMechanismProperties"},
		"mongodb://db/?authMechanismProperties=A:b,ENVIRONMENT%3Ak8s":  {"mongodb", "authMechanismProperties"},
		"mongodb://db/?authMechanism=SCRAM-SHA-256&tls=true":           {"mongodb", ""},
		"amqps://u:p@rabbit/?cacertfile=/a":                            {"rabbitmq", "cacertfile"},
		"amqps://u:p@rabbit/vhost":                                     {"rabbitmq", ""},
		"http://prometheus:9090/?sslcert=/a":                           {"prometheus", ""},
	} {
		for where, config := range map[string]*scalersconfig.ScalerConfig{
			"metadata":          {TriggerMetadata: map[string]string{"host": value}},
			"authenticationRef": {AuthParams: map[string]string{"connectionString": value}},
			"environment": {TriggerMetadata: map[string]string{"connectionFromEnv": "DB"},
				ResolvedEnv: map[string]string{"DB": value}},
		} {
			config.TriggerType = c.trigger
			err := checkConfig(config)
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), ": "+c.want+" is refused") {
				t.Errorf("%s in %s: %v, want %q", value, where, err, c.want)
			}
		}
	}
	unused := &scalersconfig.ScalerConfig{TriggerType: "mysql", TriggerMetadata: map[string]string{"queryValue": "1"},
		ResolvedEnv: map[string]string{"OTHER": "u:p@tcp(db)/x?allowAllFiles=true"}}
	if err := checkConfig(unused); err != nil {
		t.Errorf("a variable that the scaler does not read: %v", err)
	}
}

// The constructor refuses before it connects to anything.
func TestConstructorsRefuse(t *testing.T) {
	construct, err := For("mysql")
	if err != nil {
		t.Fatal(err)
	}
	_, err = construct(t.Context(), nil, &scalersconfig.ScalerConfig{TriggerType: "mysql",
		TriggerMetadata: map[string]string{"query": "SELECT 1", "queryValue": "1"},
		AuthParams:      map[string]string{"connectionString": "u:p@tcp(127.0.0.1:1)/x?allowAllFiles=true"}})
	if err == nil || !strings.Contains(err.Error(), "allowAllFiles is refused") {
		t.Errorf("got %v", err)
	}
}

func TestSecretsAreNoCounts(t *testing.T) {
	for kind, isRefused := range map[string]bool{"Secret": true, "secret ": true, "ConfigMap": false} {
		if err := Check("kubernetes-resource", map[string]string{"resourceKind": kind}); (err != nil) != isRefused {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
