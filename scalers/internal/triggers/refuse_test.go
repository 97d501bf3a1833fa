package triggers

import (
	"strings"
	"testing"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
)

// connectionKeys are the keys of what the scalers of a type connect with.
var connectionKeys = map[string]string{
	"mongodb": "connectionString", "mssql": "connectionString", "mysql": "connectionString",
	"postgresql": "connection", "rabbitmq": "host",
}

// The token of plimsoll-scalers must not get to a server that the author of a metric chose.
func TestRefuses(t *testing.T) {
	for value, c := range map[string]struct{ trigger, want string }{
		"u:p@tcp(db:3306)/x?allowAllFiles=true":             {"mysql", "allowAllFiles is refused"},
		"u:p@tcp(db:3306)/x?parseTime=true&allowAllFiles=1": {"mysql", "allowAllFiles is refused"},
		"u:p@tcp(db:3306)/x?parseTime=true":                 {"mysql", ""},
		"u:p@tcp(db:3306)/x?allowAllFiles=false":            {"mysql", ""},
		"u:allowAllFiles=true@tcp(db:3306)/x":               {"mysql", ""},
		"u:p@tcp(db:3306":                                   {"mysql", "connectionString: "},

		"host=db sslrootcert=/var/run/secrets/token":                                      {"postgresql", `"sslrootcert" is refused`},
		"host='db'sslrootcert=/x":                                                         {"postgresql", `"sslrootcert" is refused`},
		"host='db'sslrootcert = '/x'":                                                     {"postgresql", `"sslrootcert" is refused`},
		"host=db\vsslcert=/a":                                                             {"postgresql", `"sslcert" is refused`},
		"sslkey = '/a' host=db":                                                           {"postgresql", `"sslkey" is refused`},
		"postgres://u:p@db/x?%73slcert=/a":                                                {"postgresql", `"sslcert" is refused`},
		"postgresql://u:p@db/x?a=%zz&%73slcert=/a":                                        {"postgresql", "connection: "},
		"postgres://u:p@db/x?sslmode=require&passfile=/a":                                 {"postgresql", `"passfile" is refused`},
		"host=db service=a servicefile=/a":                                                {"postgresql", `is refused`},
		"host=db sslmode=verify-full password=a":                                          {"postgresql", ""},
		"host=db password='a sslcert=/a'":                                                 {"postgresql", ""},
		"postgres://u:p@db:5432/x?sslmode=require&application_name=a&statement_timeout=1": {"postgresql", ""},

		"sqlserver://u:p@db?certificate=/a":                                                               {"mssql", "certificate is refused"},
		"sqlserver://u:p@db?a=%zz&certificat%45=/a":                                                       {"mssql", "certificate is refused"},
		"sqlserver://u:p@db?certİficate=/a":                                                               {"mssql", "certificate is refused"},
		"server=db;\u00a0TokenFilePath\u2003=/a;":                                                         {"mssql", "tokenfilepath is refused"},
		"odbc:server=db;\u00a0clientCertPath\u00a0={/a}":                                                  {"mssql", "clientcertpath is refused"},
		"server=db;Server Certificate=/a.pem":                                                             {"mssql", "servercertificate is refused"},
		"odbc:server=db;krb5-keytabfile={/a}":                                                             {"mssql", "krb5-keytabfile is refused"},
		"server=db;fedauth=ActiveDirectoryWorkloadIdentity":                                               {"mssql", "fedauth=ActiveDirectoryWorkloadIdentity is refused"},
		"server=db;FedAuth=ActiveDirectoryDefault":                                                        {"mssql", "fedauth=ActiveDirectoryDefault is refused"},
		"server=db;fedauth=ActiveDirectoryPassword;user id=a":                                             {"mssql", ""},
		"sqlserver://u:p@db?database=x&encrypt=true&TrustServerCertificate=true":                          {"mssql", ""},
		"server=db;user id=a;password=\"x;certificate=/a\";Host Name In Certificate=b":                    {"mssql", ""},
		"Server=tcp:db,1433;Initial Catalog=x;Persist Security Info=False;MultipleActiveResultSets=False": {"mssql", ""},

		"mongodb://db/?tlsCAFile=/a":                                 {"mongodb", "tlsCAFile is refused"},
		"mongodb://db/?a=b;tls%43AFile=/a":                           {"mongodb", "tlsCAFile is refused"},
		"mongodb://db/?tlsCertİficateKeyFile=/a":                     {"mongodb", "tlsCertificateKeyFile is refused"},
		"mongodb://db/?ssl\u212aeyFile=/a&tlsPrivate\u212aeyFile=/a": {"mongodb", "tlsPrivateKeyFile is refused"},
		"mongodb://db/?tls=true&tlscertificatekeyfile=/a":            {"mongodb", "tlsCertificateKeyFile is refused"},
		"mongodb://db/?authMechanism=MONGODB-OIDC&authMechanismProperties=TOKEN_RESOURCE:a%26b,%45NVIRONMENT:k8s": {
			"mongodb", "authMechanism MONGODB-OIDC is refused"},
		"mongodb://db/?authMechanismProperties=TOKEN_RESOURCE:a%26b,%45NVIRONMENT:k8s&authMechan%49sm=MONGODB-O%49DC": {
			"mongodb", "authMechanism MONGODB-OIDC is refused"},
		"mongodb://db/?authMechanism=MONGODB-O\u0130DC":       {"mongodb", "is refused"},
		"mongodb://db/?authMechanism=MONGODB-AWS":             {"mongodb", "authMechanism MONGODB-AWS is refused"},
		"mongodb://a@db/?authMechanism=MONGODB-AWS":           {"mongodb", "authMechanism MONGODB-AWS is refused"},
		"mongodb://a:b@db/?authMechanism=MONGODB-AWS":         {"mongodb", ""},
		"mongodb://db/?authMechanism=GSSAPI":                  {"mongodb", "authMechanism GSSAPI is refused"},
		"mongodb://db/?a=%zz":                                 {"mongodb", "connectionString: "},
		"mongodb://db/?authMechanism=SCRAM-SHA-256&tls=true":  {"mongodb", ""},
		"mongodb://a:tlsCAFile=x@db/x?replicaSet=a&appName=b": {"mongodb", ""},

		"amqps://u:p@rabbit/?cacertfile=/a":              {"rabbitmq", "cacertfile is refused"},
		"amqps://u:p@rabbit/?a=%zz&%63ertfile=/a":        {"rabbitmq", "certfile is refused"},
		"amqps://u:p@rabbit/vhost?heartbeat=5&keyfile=a": {"rabbitmq", "keyfile is refused"},
		"amqps://u:p@rabbit/vhost":                       {"rabbitmq", ""},
		"https://u:p@rabbit/vhost?cacertfile=/a":         {"rabbitmq", ""},

		"http://prometheus:9090/?sslcert=/a": {"prometheus", ""},
	} {
		key := connectionKeys[c.trigger]
		for where, config := range map[string]*scalersconfig.ScalerConfig{
			"authenticationRef": {AuthParams: map[string]string{key: " " + value + "\u00a0"}},
			"environment": {TriggerMetadata: map[string]string{key + "FromEnv": "DB"},
				ResolvedEnv: map[string]string{"DB": value}},
		} {
			config.TriggerType = c.trigger
			err := checkConfig(config)
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q in %s: %v, want %q", value, where, err, c.want)
			}
		}
	}
}

// KEDA's scaler makes a connection string of other fields, and some are in it as they are.
func TestRefusesFields(t *testing.T) {
	for name, c := range map[string]struct {
		trigger  string
		metadata map[string]string
		want     string
	}{
		"a scheme with parameters": {"mongodb", map[string]string{
			"scheme": "mongodb://u:p@db/?tlsCAFile=/a&appName=", "host": "a", "port": "1", "username": "u", "dbName": "x",
		}, "tlsCAFile is refused"},
		"a connection string in the metadata": {"mongodb", map[string]string{
			"connectionString": "mongodb://db/?tlsCAFile=/a",
		}, "tlsCAFile is refused"},
		"the fields of MongoDB": {"mongodb", map[string]string{
			"host": "db", "port": "27017", "username": "tlsCAFile=/a", "dbName": "x?tlsCAFile=/a",
		}, ""},
		"the fields of MySQL": {"mysql", map[string]string{
			"host": "db)/x?allowAllFiles=true&a=(", "port": "3306", "username": "u", "dbName": "x?allowAllFiles=true",
		}, ""},
		"an environment that names a file": {"gcp-pubsub", map[string]string{"credentialsFromEnvFile": "FILE"},
			"metadata: credentialsFromEnvFile is refused"},
		"the same of another type": {"prometheus", map[string]string{"credentialsFromEnvFile": "FILE"},
			"metadata: credentialsFromEnvFile is refused"},
		"a query": {"mssql", map[string]string{"query": "SELECT 1 FROM a WHERE certificate = 'x'"}, ""},
		"Secrets": {"kubernetes-resource", map[string]string{"resourceKind": "secret "}, "Secret is refused"},
		"others":  {"kubernetes-resource", map[string]string{"resourceKind": "ConfigMap"}, ""},
	} {
		err := checkConfig(&scalersconfig.ScalerConfig{TriggerType: c.trigger, TriggerMetadata: c.metadata,
			AuthParams: map[string]string{"password": "p"}})
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// With this identity KEDA's scaler makes the connection string of other fields, and does not ask whether they are there.
func TestConnectionBesideAnIdentity(t *testing.T) {
	for provider, isRefused := range map[kedav1alpha1.PodIdentityProvider]bool{
		kedav1alpha1.PodIdentityProviderAzureWorkload: true, kedav1alpha1.PodIdentityProviderNone: false,
	} {
		err := checkConfig(&scalersconfig.ScalerConfig{TriggerType: "postgresql",
			AuthParams:  map[string]string{"connection": "host=db"},
			PodIdentity: kedav1alpha1.AuthPodIdentity{Provider: provider}})
		if (err != nil) != isRefused || err != nil && !strings.HasPrefix(err.Error(), "connection: KEDA's scaler does not") {
			t.Errorf("%s: %v", provider, err)
		}
	}
}

// The constructors refuse before they connect to anything.
func TestConstructorsRefuse(t *testing.T) {
	for trigger, connection := range map[string]string{
		"mongodb":    "mongodb://127.0.0.1:1/?tlsCAFile=/a",
		"mssql":      "server=127.0.0.1;certificate=/a.pem",
		"mysql":      "u:p@tcp(127.0.0.1:1)/x?allowAllFiles=true",
		"postgresql": "host=127.0.0.1 sslcert=/a",
		"rabbitmq":   "amqps://127.0.0.1:1/?cacertfile=/a",
	} {
		construct, err := For(trigger)
		if err != nil {
			t.Fatal(err)
		}
		_, err = construct(t.Context(), nil, &scalersconfig.ScalerConfig{TriggerType: trigger,
			TriggerMetadata: map[string]string{"query": "SELECT 1", "queryValue": "1"},
			AuthParams:      map[string]string{connectionKeys[trigger]: connection}})
		if err == nil || !strings.Contains(err.Error(), " is refused: ") {
			t.Errorf("%s: got %v", trigger, err)
		}
	}
}
