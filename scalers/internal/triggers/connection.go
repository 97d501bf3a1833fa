package triggers

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	"github.com/microsoft/go-mssqldb/msdsn"
	amqp "github.com/rabbitmq/amqp091-go"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// connections check what the scaler of a type connects with. Each one makes the same text of the configuration as
// KEDA's scaler, and has the driver parse it: what a driver does not understand it refuses, and what it understands is
// known after all escapes, spaces and cases of letters.
var connections = map[string]func(*scalersconfig.ScalerConfig) error{
	"mongodb":    checkMongoDB,
	"mssql":      checkMSSQL,
	"mysql":      checkMySQL,
	"postgresql": checkPostgreSQL,
	"rabbitmq":   checkRabbitMQ,
}

// The fields of these types are those of KEDA's scalers, from which a connection string comes. KEDA reads the tags.
type (
	mongoDB struct {
		ConnectionString string `keda:"name=connectionString, order=authParams;triggerMetadata;resolvedEnv, optional"`
		Scheme           string `keda:"name=scheme, order=authParams;triggerMetadata, default=mongodb"`
		Host             string `keda:"name=host, order=authParams;triggerMetadata, optional"`
		Port             string `keda:"name=port, order=authParams;triggerMetadata, optional"`
		Username         string `keda:"name=username, order=authParams;triggerMetadata, optional"`
		Password         string `keda:"name=password, order=authParams;triggerMetadata;resolvedEnv, optional"`
		DBName           string `keda:"name=dbName, order=authParams;triggerMetadata, optional"`
		TriggerIndex     int
	}
	mySQL struct {
		ConnectionString string `keda:"name=connectionString, order=authParams;resolvedEnv, optional"`
		Username         string `keda:"name=username, order=triggerMetadata;authParams;resolvedEnv, optional"`
		Password         string `keda:"name=password, order=authParams;resolvedEnv, optional"`
		Host             string `keda:"name=host, order=triggerMetadata;authParams, optional"`
		Port             string `keda:"name=port, order=triggerMetadata;authParams, optional"`
		DBName           string `keda:"name=dbName, order=triggerMetadata;authParams, optional"`
		TriggerIndex     int
	}
	msSQL struct {
		ConnectionString string `keda:"name=connectionString, order=authParams;resolvedEnv, optional"`
		TriggerIndex     int
	}
	postgreSQL struct {
		Connection   string `keda:"name=connection, order=authParams;resolvedEnv, optional"`
		TriggerIndex int
	}
	rabbitMQ struct {
		Host         string `keda:"name=host, order=triggerMetadata;authParams;resolvedEnv, optional"`
		TriggerIndex int
	}
)

// text returns the connection string, as KEDA's createMongoDBClient.
func (m *mongoDB) text() string {
	if m.ConnectionString != "" {
		return m.ConnectionString
	}
	host := m.Host
	if m.Scheme != connstring.SchemeMongoDBSRV {
		host = net.JoinHostPort(m.Host, m.Port)
	}
	address := url.URL{
		Scheme: m.Scheme, User: url.UserPassword(m.Username, m.Password), Host: host, Path: m.DBName,
	}
	return address.String()
}

func checkMongoDB(config *scalersconfig.ScalerConfig) error {
	const field = "connectionString"
	m := &mongoDB{}
	if err := config.TypedConfig(m); err != nil {
		return err
	}
	if m.ConnectionString == "" && m.Host == "" {
		return nil // KEDA's scaler says which fields it lacks.
	}
	c, err := connstring.Parse(m.text())
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	switch {
	case c.SSLCaFileSet:
		return refusal(field, "tlsCAFile")
	case c.SSLClientCertificateKeyFileSet:
		return refusal(field, "tlsCertificateKeyFile")
	case c.SSLCertificateFileSet:
		return refusal(field, "tlsCertificateFile")
	case c.SSLPrivateKeyFileSet:
		return refusal(field, "tlsPrivateKeyFile")
	}
	switch strings.ToLower(c.AuthMechanism) {
	case "", "scram-sha-1", "scram-sha-256", "plain", "mongodb-x509":
		return nil
	case "mongodb-aws":
		// Without them the driver looks for credentials of the pod.
		if c.Username != "" && c.Password != "" {
			return nil
		}
	}
	return refusal(field, "authMechanism "+c.AuthMechanism)
}

// text returns the connection string, as KEDA's metadataToConnectionStr.
func (m *mySQL) text() string {
	if m.ConnectionString != "" {
		return m.ConnectionString
	}
	c := mysql.NewConfig()
	c.Net, c.Addr, c.DBName = "tcp", net.JoinHostPort(m.Host, m.Port), m.DBName
	c.User, c.Passwd = m.Username, m.Password
	return c.FormatDSN()
}

func checkMySQL(config *scalersconfig.ScalerConfig) error {
	const field = "connectionString"
	m := &mySQL{}
	if err := config.TypedConfig(m); err != nil {
		return err
	}
	c, err := mysql.ParseDSN(m.text())
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", field, err)
	case c.AllowAllFiles:
		return refusal(field, "allowAllFiles")
	}
	return nil
}

// checkMSSQL checks the connection string alone: in the URL that KEDA's scaler makes of other fields they are escaped.
func checkMSSQL(config *scalersconfig.ScalerConfig) error {
	const field = "connectionString"
	m := &msSQL{}
	if err := config.TypedConfig(m); err != nil {
		return err
	}
	if m.ConnectionString == "" {
		return nil
	}
	// It reads the certificate, to no effect, and returns the parameters beside the error if it cannot.
	c, err := msdsn.Parse(m.ConnectionString)
	for _, key := range slices.Sorted(maps.Keys(c.Parameters)) {
		if mssqlReadsFile(key) {
			return refusal(field, key)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	// A server chooses for what a token is requested, and receives it. The other workflows take the token, or what it
	// takes to get one, from the pod.
	const workflow = "fedauth"
	switch strings.ToLower(c.Parameters[workflow]) {
	case "", "activedirectorypassword", "activedirectoryserviceprincipal", "activedirectoryapplication",
		"activedirectoryserviceprincipalaccesstoken", "activedirectoryclientassertion", "activedirectoryonbehalfof":
		return nil
	}
	return refusal(field, workflow+"="+c.Parameters[workflow])
}

// mssqlReadsFile reports whether a parameter names a file. The driver ignores parameters that it does not know.
func mssqlReadsFile(key string) bool {
	switch strings.ReplaceAll(key, " ", "") {
	case msdsn.TrustServerCertificate, msdsn.HostNameInCertificate:
		return false
	}
	return slices.ContainsFunc([]string{"certificate", "certpath", "file", "krb5-"}, func(part string) bool {
		return strings.Contains(key, part)
	})
}

// postgreSQLParameters are parameters with which the driver reads no files. It sends those that it does not know to the
// server.
var postgreSQLParameters = []string{
	"host", "port", "dbname", "user", "password",
	"ssl", "sslmode", "sslnegotiation", "sslsni", "channel_binding", "require_auth", "gssencmode", "krbsrvname",
	"min_protocol_version", "max_protocol_version", "connect_timeout", "target_session_attrs", "load_balance_hosts",
	"keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
	"default_query_exec_mode", "statement_cache_capacity", "description_cache_capacity",
	"application_name", "fallback_application_name", "client_encoding", "options", "search_path", "role",
	"timezone", "TimeZone", "datestyle", "DateStyle", "extra_float_digits", "work_mem",
	"statement_timeout", "lock_timeout", "idle_session_timeout", "idle_in_transaction_session_timeout",
	"default_transaction_read_only", "default_transaction_isolation",
}

// postgreSQLRefused finds the parameter in the driver's error.
var postgreSQLRefused = regexp.MustCompile(`connection string key ("(?:[^"\\]|\\.)*") is not in`)

// checkPostgreSQL checks the connection string alone: in the one that KEDA's scaler makes of other fields they are
// escaped.
func checkPostgreSQL(config *scalersconfig.ScalerConfig) error {
	const field = "connection"
	m := &postgreSQL{}
	if err := config.TypedConfig(m); err != nil {
		return err
	}
	switch {
	case m.Connection == "":
		return nil
	case config.PodIdentity.Provider == kedav1alpha1.PodIdentityProviderAzureWorkload:
		// It would also not check that the other fields are there: the driver would choose the server.
		return fmt.Errorf("%s: KEDA's scaler does not use it with the pod identity %s: set host, port, userName, dbName and "+
			"sslmode instead", field, config.PodIdentity.Provider)
	}
	// With ConnStringAllowedKeys it reads no file that the string names.
	_, err := pgconn.ParseConfigWithOptions(m.Connection,
		pgconn.ParseConfigOptions{ConnStringAllowedKeys: postgreSQLParameters})
	if err == nil {
		return nil
	}
	if found := postgreSQLRefused.FindStringSubmatch(err.Error()); found != nil {
		return fmt.Errorf("%s: the parameter %s is refused: it is none of those with which the driver reads no files",
			field, found[1])
	}
	return fmt.Errorf("%s: %w", field, err)
}

func checkRabbitMQ(config *scalersconfig.ScalerConfig) error {
	const field = "host"
	m := &rabbitMQ{}
	if err := config.TypedConfig(m); err != nil {
		return err
	}
	c, err := amqp.ParseURI(m.Host)
	if err != nil {
		return nil //nolint:nilerr // Another protocol, which has no such parameters, or the scaler refuses it likewise.
	}
	switch {
	case c.CACertFile != "":
		return refusal(field, "cacertfile")
	case c.CertFile != "":
		return refusal(field, "certfile")
	case c.KeyFile != "":
		return refusal(field, "keyfile")
	}
	return nil
}
