package triggers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	amqp "github.com/rabbitmq/amqp091-go"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// TestFieldsAreKEDAs compares the tags, by which KEDA finds the value of a field, with those of KEDA's scalers.
func TestFieldsAreKEDAs(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "github.com/kedacore/keda/v2/pkg/scalers")
	directory, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fields     any
		file, name string
	}{
		{mongoDB{}, "mongo_scaler.go", "mongoDBMetadata"},
		{mySQL{}, "mysql_scaler.go", "mySQLMetadata"},
		{msSQL{}, "mssql_scaler.go", "mssqlMetadata"},
		{postgreSQL{}, "postgresql_scaler.go", "postgreSQLMetadata"},
		{rabbitMQ{}, "rabbitmq_scaler.go", "rabbitMQMetadata"},
	} {
		kedas := tagsOf(t, filepath.Join(strings.TrimSpace(string(directory)), c.file), c.name)
		for field := range reflect.TypeOf(c.fields).Fields() {
			tag, ok := field.Tag.Lookup("keda")
			if got, want := source(tag), source(kedas[field.Name]); ok && got != want {
				t.Errorf("%s of %s: %q, KEDA has %q", field.Name, c.name, got, want)
			}
		}
	}
}

// tagsOf returns the tags of a type's fields.
func tagsOf(t *testing.T, path, name string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != name {
			return true
		}
		for _, field := range spec.Type.(*ast.StructType).Fields.List {
			if field.Tag == nil {
				continue
			}
			text, err := strconv.Unquote(field.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			tags[field.Names[0].Name] = reflect.StructTag(text).Get("keda")
		}
		return false
	})
	if len(tags) == 0 {
		t.Fatalf("%s has no type %s", path, name)
	}
	return tags
}

// source returns the part of a tag that says where a value is from: its names, their order and the default.
func source(tag string) string {
	var parts []string
	for part := range strings.SplitSeq(tag, ",") {
		if part = strings.TrimSpace(part); part != "optional" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ",")
}

// A newer version of a driver may read more files.
func TestFilesOfDrivers(t *testing.T) {
	for name, c := range map[string]struct {
		parsed any
		want   string
	}{
		"mongodb":  {connstring.ConnString{}, "SSLClientCertificateKeyFile SSLCertificateFile SSLPrivateKeyFile SSLCaFile"},
		"rabbitmq": {amqp.URI{}, "CertFile CACertFile KeyFile"},
	} {
		var files []string
		for field := range reflect.TypeOf(c.parsed).Fields() {
			if strings.HasSuffix(field.Name, "File") || strings.HasSuffix(field.Name, "Path") {
				files = append(files, field.Name)
			}
		}
		if got := strings.Join(files, " "); got != c.want {
			t.Errorf("%s: fields %q, want %q: are the others refused?", name, got, c.want)
		}
	}
}

func TestParametersAreDocumented(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(readme), "each other one is refused:")
	got := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune("`,. \n", r) })
	if !slices.Equal(got, postgreSQLParameters) {
		t.Errorf("README.md has %q, want %q", got, postgreSQLParameters)
	}
}

// refusedNames are parameters that each driver reads from a URL.
var refusedNames = []struct {
	trigger, address, name, value string
	// isAnyCase is true for a driver to which the case of letters is the same.
	isAnyCase bool
}{
	{"mongodb", "mongodb://db/?", "tlsCAFile", "/a", true},
	{"mongodb", "mongodb://db/?", "sslClientCertificateKeyFile", "/a", true},
	{"mongodb", "mongodb://db/?", "authMechanism", "MONGODB-OIDC", true},
	{"mongodb", "mongodb://db/?", "authMechanism", "MONGODB-AWS", true},
	{"mssql", "sqlserver://u:p@db?", "certificate", "/a.pem", true},
	{"mssql", "sqlserver://u:p@db?", "fedauth", "ActiveDirectoryMSI", true},
	{"mysql", "u:p@tcp(db)/x?", "allowAllFiles", "true", false},
	{"postgresql", "postgres://u:p@db/x?", "sslrootcert", "/a", false},
	{"postgresql", "postgres://u:p@db/x?", "passfile", "/a", false},
	{"rabbitmq", "amqps://u:p@db/x?", "cacertfile", "/a", false},
}

// FuzzRefused mixes escapes and cases of the letters of a parameter, after others.
func FuzzRefused(f *testing.F) {
	for i := range refusedNames {
		f.Add(uint8(i), uint64(0), uint64(0), "")
		f.Add(uint8(i), uint64(0x5a5a5a5a5a), uint64(0xa5), "a=%zz")
		f.Add(uint8(i), ^uint64(0), ^uint64(0), "a=b%26c,%45")
	}
	f.Fuzz(func(t *testing.T, which uint8, escapes, cases uint64, before string) {
		c := refusedNames[int(which)%len(refusedNames)]
		if c.trigger == "mysql" {
			escapes = 0 // Its driver takes names as they are.
		}
		if !c.isAnyCase {
			cases = 0
		}
		// Such characters make no parameter of what comes after them.
		if strings.ContainsAny(before, "#/?@; ") || strings.ContainsFunc(before, func(r rune) bool { return r < 0x20 }) {
			return
		}
		if before != "" {
			before += "&"
		}
		text := c.address + before + mixed(c.name, escapes, cases) + "=" + value(c.trigger, c.value, cases)
		err := checkConfig(&scalersconfig.ScalerConfig{TriggerType: c.trigger,
			AuthParams: map[string]string{connectionKeys[c.trigger]: text}})
		if _, invalid := amqp.ParseURI(text); c.trigger == "rabbitmq" && invalid != nil {
			return // The scaler has the same error.
		}
		if err == nil {
			t.Errorf("%q is not refused", text)
		}
	})
}

// mixed escapes the letters whose bits are set, and changes the case of others.
func mixed(name string, escapes, cases uint64) string {
	var b strings.Builder
	for i := range len(name) {
		letter := name[i : i+1]
		if cases>>(i%64)&1 == 1 {
			letter = swapped(letter)
		}
		if escapes>>(i%64)&1 == 1 {
			letter = "%" + strconv.FormatInt(int64(letter[0]), 16)
		}
		b.WriteString(letter)
	}
	return b.String()
}

func swapped(letter string) string {
	if upper := strings.ToUpper(letter); upper != letter {
		return upper
	}
	return strings.ToLower(letter)
}

func value(trigger, text string, cases uint64) string {
	if trigger == "mongodb" && strings.HasPrefix(text, "MONGODB-") || trigger == "mssql" && text[0] != '/' {
		text = mixed(text, 0, cases)
	}
	return url.QueryEscape(text)
}
