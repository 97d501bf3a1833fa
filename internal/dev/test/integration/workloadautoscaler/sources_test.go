package workloadautoscaler

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// own are valid sources of the types that Plimsoll reads itself.
var own = map[string]string{
	"podEndpoint":    `{"port":"http","metric":{"name":"hits"},"valueType":"Rate","target":` + average + `}`,
	"prometheus":     `{"serverAddress":"http://prometheus:9090","query":"up","target":` + average + `}`,
	"externalScaler": `{"scalerAddress":"scaler:9090","target":` + average + `}`,
	"scaler":         `{"type":"redis","metadata":{"listName":"orders"}}`,
}

// patched is a spec whose only metric is that source with the patch, of which null removes a field.
func patched(t *testing.T, source, patch string) string {
	t.Helper()
	fields, changes := decoded([]byte(own[source])), decoded([]byte(patch))
	maps.Copy(fields, changes)
	maps.DeleteFunc(fields, func(_ string, value any) bool { return value == nil })
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"metrics":[{"name":"m","type":%q,%q:%s}]}`, strings.ToUpper(source[:1])+source[1:], source, text)
}

const (
	secret = `{"name":"s","key":"k"}`
	tokens = `"authorization":{"credentials":` + secret + `}`
	users  = `"basicAuth":{"username":` + secret + `,"password":` + secret + `}`
)

// The valid forms of metrics that Plimsoll reads itself.
func TestOwnSourcesAreAccepted(t *testing.T) {
	t.Parallel()
	objects := objectsOf(t, namespace(t))
	const all = `{"serverName":"web.shop.svc","ca":{"secret":` + secret + `},"cert":{"secret":` + secret + `},"key":{"secret":` + secret + `}}`
	for source, patches := range map[string][]string{
		"podEndpoint": {
			`{}`, `{"tlsConfig":{}}`, `{"tlsConfig":{"insecureSkipVerify":false}}`, `{"port":8080}`, `{"port":65535,"path":"/stats/prometheus?usedonly&filter=a%2fb"}`,
			`{"target":` + value + `}`, `{"valueType":"Gauge","nullValues":"Zero"}`, `{"scheme":"HTTPS","tlsConfig":{}}`,
			`{"scheme":"HTTPS","tlsConfig":` + all + `,` + tokens + `}`, `{` + users + `}`,
			`{"metric":{"name":"hits","selector":{"matchLabels":{"path":"/check out"}}}}`, `{"metric":{"name":"hits","selector":{}}}`,
			`{"metric":{"name":"hits","selector":{"matchExpressions":[{"key":"_a","operator":"NotIn","values":["/","",` + manyValues(253) + `]}]}}}`,
			`{"metric":{"name":"hits","selector":{"matchExpressions":[{"key":"a","operator":"Exists"},{"key":"b","operator":"DoesNotExist","values":[]}]}}}`,
			`{"metric":{"name":"job:hits_2xx:Rate"}}`, `{"metric":{"name":"_"}}`, `{"aggregate":"Sum"}`, `{"podSelector":null}`,
			`{"valueType":"Gauge","aggregate":"Max"}`, `{"service":"gateway","aggregate":"Average"}`,
			`{"podSelector":{"matchLabels":{"app.kubernetes.io/name":"gateway"}},"aggregate":"Max","target":` + value + `}`,
			`{"podSelector":{"matchLabels":{},"matchExpressions":[{"key":"app","operator":"In","values":["",` + manyValues(254) + `]}]}}`,
		},
		"prometheus": {
			`{}`, `{"tlsConfig":{}}`, `{"serverAddress":"https://thanos.monitoring.svc.cluster.local:9091/prefix/"}`,
			`{"serverAddress":"http://10.0.0.1"}`, `{"serverAddress":"http://[fd00::1]:9090"}`,
			`{"target":` + value + `,"intervalSeconds":300,"timeoutSeconds":30,"nullValues":"Zero"}`,
			`{"tenant":{"id":"team a","header":"THANOS-TENANT"},"namespaceParameter":"shop"}`, `{` + tokens + `}`,
			`{"serverAddress":"https://p","tlsConfig":{"caBundle":"UEVN"},` + users + `}`,
		},
		"externalScaler": {
			`{}`, `{"tlsConfig":{}}`, `{"transport":"TLS"}`, `{"transport":"TLS","tlsConfig":{}}`, `{"target":null}`, `{"target":{"type":"Value"}}`, `{"target":` + value + `,"delivery":"Poll"}`,
			`{"scalerMetadata":{"queue":"orders","empty":""},"metricName":"s0-jobs"}`,
			`{"scalerAddress":"scaler.keda.svc.cluster.local:65535","intervalSeconds":1,"transport":"TLS","tlsConfig":` + all + `}`,
		},
		"scaler": {
			`{}`, `{"metadata":null}`, `{"metadata":{}}`, `{"target":{"type":"Value"}}`, `{"target":` + value + `,"metricName":"s0-jobs"}`,
			`{"authenticationRef":{"name":"redis"}}`, `{"authenticationRef":{"name":"redis","kind":"ClusterTriggerAuthentication"}}`,
			`{"intervalSeconds":1,"timeoutSeconds":30}`,
		},
	} {
		for _, patch := range patches {
			if _, err := objects.dryRun(t, workloadAutoscaler, with(t, patched(t, source, patch))); err != nil {
				t.Errorf("%s %s: %v", source, patch, err)
			}
		}
	}
	for kind, patch := range map[string]string{
		"prometheus": `{}`, "externalScaler": `{}`, "scaler": `{}`, "podEndpoint": `{"service":"gateway"}`,
	} {
		spec := strings.Replace(patched(t, kind, patch), `{"metrics"`, `{"minReplicas":0,"scaleToZero":{},"metrics"`, 1)
		if _, err := objects.dryRun(t, workloadAutoscaler, with(t, spec)); err != nil {
			t.Errorf("zero replicas by %s: %v", kind, err)
		}
	}
}

// Invalid ones, and those that no object may use, are refused with the field.
func TestInvalidOwnSourcesAreRefused(t *testing.T) {
	t.Parallel()
	objects := objectsOf(t, namespace(t))
	for _, c := range []struct{ source, patch, field, text string }{
		{"podEndpoint", `{"podSelector":{}}`, ".podSelector", "would select all pods of the namespace"},
		{"podEndpoint", `{"podSelector":{"matchLabels":{},"matchExpressions":[]}}`, ".podSelector", "would select all pods of the namespace"},
		{"podEndpoint", `{"podSelector":{"matchExpressions":[{"key":"a","operator":"DoesNotExist"}]}}`, ".podSelector", "must require a label"},
		{"podEndpoint", `{"podSelector":{"matchLabels":{"a b":"c"}}}`, ".podSelector.matchLabels", "must have keys with the syntax of labels"},
		{"podEndpoint", `{"podSelector":{"matchLabels":{"a":"b c"}}}`, ".podSelector.matchLabels.a", "should match"},
		{"podEndpoint", `{"podSelector":{"matchExpressions":[{"key":"a","operator":"In"}]}}`, ".podSelector.matchExpressions[0].values", "must be set where operator is In"},
		{"podEndpoint", `{"podSelector":{"matchLabels":{"app":"gateway"}},"service":"gateway"}`, ".service", "may not be set beside podSelector"},
		{"podEndpoint", `{"service":""}`, ".service", "at least 1 chars"},
		{"podEndpoint", `{"service":"gateway.other"}`, ".service", "should match"},
		{"podEndpoint", `{"aggregate":"Min"}`, ".aggregate", "Unsupported value"},
		{"podEndpoint", `{"aggregate":"Max"}`, ".aggregate", "must be Sum where valueType is Rate"},
		{"podEndpoint", `{"port":null}`, ".port", "Required"},
		{"podEndpoint", `{"port":0}`, ".port", "must be 1 to 65535"},
		{"podEndpoint", `{"port":65536}`, ".port", "must be 1 to 65535"},
		{"podEndpoint", `{"port":"8080"}`, ".port", "should match"},
		{"podEndpoint", `{"port":""}`, ".port", "at least 1 chars"},
		{"podEndpoint", `{"port":"a.example.com:1"}`, ".port", "should match"},
		{"podEndpoint", `{"port":"sixteen-is-long1"}`, ".port", "may not be more than 15 bytes"},
		{"podEndpoint", `{"path":"metrics"}`, ".path", "should match"},
		{"podEndpoint", `{"path":"/a#b"}`, ".path", "should match"},
		{"podEndpoint", `{"path":"/a\r\nHost: x"}`, ".path", "should match"},
		{"podEndpoint", `{"path":"/a%2"}`, ".path", "should match"},
		{"podEndpoint", `{"scheme":"ftp"}`, ".scheme", "Unsupported value"},
		{"podEndpoint", `{"valueType":null}`, ".valueType", "Required"},
		{"podEndpoint", `{"valueType":"Counter"}`, ".valueType", "Unsupported value"},
		{"podEndpoint", `{"metric":{"name":""}}`, ".metric.name", "at least 1 chars"},
		{"podEndpoint", `{"metric":{"name":"http-requests"}}`, ".metric.name", "must have letters, digits"},
		{"podEndpoint", `{"metric":{"name":"1xx_total"}}`, ".metric.name", "must have letters, digits"},
		{"podEndpoint", `{"metric":{"name":"anfragen_gesamt_für"}}`, ".metric.name", "must have letters, digits"},
		{"podEndpoint", `{"metric":{"name":"a{b=\"c\"}"}}`, ".metric.name", "must have letters, digits"},
		{"podEndpoint", `{"target":null}`, ".target", "Required"},
		{"podEndpoint", `{"target":{"type":"Value"}}`, ".target.value", "must be set where type is Value"},
		{"podEndpoint", `{"target":{"type":"Value","value":"1","averageValue":"1"}}`, ".target.averageValue", "may be set only where type is AverageValue"},
		{"podEndpoint", `{"target":{"type":"AverageValue","averageValue":"1","averageUtilization":1}}`, ".target.averageUtilization", "may be set only where type is Utilization"},
		{"podEndpoint", `{"target":{"type":"Value","averageValue":"1"}}`, ".target.value", "must be set where type is Value"},
		{"podEndpoint", `{"target":{"type":"AverageValue","averageValue":"0"}}`, ".target.averageValue", "should match"},
		{"podEndpoint", `{"tlsConfig":{"caBundle":"UEVN"}}`, ".tlsConfig", "may be set only where scheme is HTTPS"},
		{"podEndpoint", `{"scheme":"HTTPS","tlsConfig":{"serverName":""}}`, ".tlsConfig.serverName", "at least 1 chars"},
		{"podEndpoint", `{"path":""}`, ".path", "at least 1 chars"},
		{"podEndpoint", `{"metric":{"name":"hits","selector":{"matchExpressions":[{"key":"a-b","operator":"Exists"}]}}}`,
			".metric.selector.matchExpressions[0].key", "should match"},
		{"podEndpoint", `{"metric":{"name":"hits","selector":{"matchExpressions":[{"key":"a","operator":"In"}]}}}`,
			".metric.selector.matchExpressions[0].values", "must be set where operator is In or NotIn"},
		{"podEndpoint", `{"metric":{"name":"hits","selector":{"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]}}}`,
			".metric.selector.matchExpressions[0].values", "may not be set where operator is Exists"},
		{"podEndpoint", `{"metric":{"name":"hits","selector":{"matchLabels":{"a-b":"c"}}}}`, ".metric.selector.matchLabels", "must have keys of letters"},
		{"podEndpoint", `{"metric":{"name":"hits","selector":{"matchExpressions":[{"key":"a","operator":"In","values":[` + manyValues(256) + `]}]}}}`,
			".metric.selector", "at most 256 labels and values"},
		{"podEndpoint", `{` + users + `,` + tokens + `}`, ".basicAuth", "may not be set beside authorization"},
		{"podEndpoint", `{"authorization":{"type":"Basic","credentials":` + secret + `}}`, ".authorization.type", "Unsupported value"},
		{"podEndpoint", `{"authorization":{"credentials":{"name":"a/b","key":"k"}}}`, ".authorization.credentials.name", "should match"},
		{"podEndpoint", `{"authorization":{"credentials":{"name":"a","key":"../k"}}}`, ".authorization.credentials.key", "should match"},
		{"prometheus", `{"serverAddress":null}`, ".serverAddress", "Required"},
		{"prometheus", `{"serverAddress":"prometheus:9090"}`, ".serverAddress", "must be an http or https URL"},
		{"prometheus", `{"serverAddress":"file:///etc/passwd"}`, ".serverAddress", "must be an http or https URL"},
		{"prometheus", `{"serverAddress":"http://"}`, ".serverAddress", "must be an http or https URL"},
		{"prometheus", `{"serverAddress":"http://:9090"}`, ".serverAddress", "must be an http or https URL"},
		{"prometheus", `{"serverAddress":"http://u:p@h"}`, ".serverAddress", "without user"},
		{"prometheus", `{"serverAddress":"http://h?a=b"}`, ".serverAddress", "without user, query"},
		{"prometheus", `{"serverAddress":"http://h/#a"}`, ".serverAddress", "without user, query and fragment"},
		{"prometheus", `{"serverAddress":"http://h:65536"}`, ".serverAddress", "must be an http or https URL"},
		{"prometheus", `{"serverAddress":"http://h:0"}`, ".serverAddress", "must be an http or https URL"},
		{"prometheus", `{"serverAddress":"http://` + strings.Repeat("h", 506) + `"}`, ".serverAddress", "may not be more than 512 bytes"},
		{"prometheus", `{"query":""}`, ".query", "at least 1 chars"},
		{"prometheus", `{"query":"` + strings.Repeat("x", 4097) + `"}`, ".query", "may not be more than 4096 bytes"},
		{"prometheus", `{"intervalSeconds":0}`, ".intervalSeconds", "greater than or equal to 1"},
		{"prometheus", `{"intervalSeconds":301}`, ".intervalSeconds", "less than or equal to 300"},
		{"prometheus", `{"timeoutSeconds":31}`, ".timeoutSeconds", "less than or equal to 30"},
		{"prometheus", `{"tenant":{"id":"a\r\nHost: x"}}`, ".tenant.id", "should match"},
		{"prometheus", `{"tenant":{"id":"a","header":"Host"}}`, ".tenant.header", "Unsupported value"},
		{"prometheus", `{"namespaceParameter":"a&b"}`, ".namespaceParameter", "should match"},
		{"prometheus", `{"namespaceParameter":""}`, ".namespaceParameter", "at least 1 chars"},
		{"prometheus", `{"queryParameters":""}`, ".queryParameters", "at least 1 chars"},
		{"prometheus", `{"tlsConfig":{"insecureSkipVerify":true}}`, ".tlsConfig", "may be set only where serverAddress begins with https"},
		{"prometheus", `{` + users + `,` + tokens + `}`, ".basicAuth", "may not be set beside authorization"},
		{"prometheus", `{"target":{"type":"Utilization","averageUtilization":1}}`, ".target.type", "must be Value or AverageValue"},
		{"externalScaler", `{"scalerAddress":"scaler"}`, ".scalerAddress", "must be a host and a port"},
		{"externalScaler", `{"scalerAddress":"scaler:65536"}`, ".scalerAddress", "must be a host and a port"},
		{"externalScaler", `{"scalerAddress":"scaler:0"}`, ".scalerAddress", "must be a host and a port"},
		{"externalScaler", `{"scalerAddress":"unix:///run/x:1"}`, ".scalerAddress", "must be a host and a port"},
		{"externalScaler", `{"scalerAddress":"dns:///scaler:1"}`, ".scalerAddress", "must be a host and a port"},
		{"externalScaler", `{"target":{"type":"Value","averageValue":"5"}}`, ".target.averageValue", "may be set only where type is AverageValue"},
		{"externalScaler", `{"target":{"type":"Utilization"}}`, ".target.type", "must be Value or AverageValue"},
		{"externalScaler", `{"metricName":""}`, ".metricName", "at least 1 chars"},
		{"externalScaler", `{"transport":"SSL"}`, ".transport", "Unsupported value"},
		{"externalScaler", `{"tlsConfig":{"caBundle":"UEVN"}}`, ".tlsConfig", "may be set only where transport is TLS"},
		{"externalScaler", `{"scalerMetadata":{"scalerAddress":"x"}}`, ".scalerMetadata", "may not have the key scalerAddress"},
		{"externalScaler", `{"scalerMetadata":{"":"x"}}`, ".scalerMetadata", "must have keys of 1 to 253 characters"},
		{"externalScaler", `{"scalerMetadata":{"a":"` + strings.Repeat("x", 4097) + `"}}`, ".scalerMetadata", "values of at most 4096"},
		{"externalScaler", `{"transport":"TLS","tlsConfig":{"cert":{"secret":` + secret + `}}}`, ".tlsConfig.cert", "must be set together with key"},
		{"externalScaler", `{"transport":"TLS","tlsConfig":{"caBundle":"UEVN","ca":{"secret":` + secret + `}}}`, ".tlsConfig.ca", "may not be set beside caBundle"},
		{"externalScaler", `{"transport":"TLS","tlsConfig":{"caBundle":"UEVN","insecureSkipVerify":true}}`, ".tlsConfig.insecureSkipVerify",
			"may not be true beside ca or caBundle"},
		{"externalScaler", `{"transport":"TLS","tlsConfig":{"serverName":"a b"}}`, ".tlsConfig.serverName", "should match"},
		{"scaler", `{"type":null}`, ".type", "Required"},
		{"scaler", `{"type":"Redis"}`, ".type", "should match"},
		{"scaler", `{"metadata":{"a":1}}`, ".metadata.a", "must be of type string"},
		{"scaler", `{"metadata":{"":"x"}}`, ".metadata", "must have keys of 1 to 253 characters"},
		{"scaler", `{"metadata":{"a":"` + strings.Repeat("x", 4097) + `"}}`, ".metadata", "values of at most 4096"},
		{"scaler", `{"authenticationRef":{}}`, ".authenticationRef.name", "Required"},
		{"scaler", `{"authenticationRef":{"name":""}}`, ".authenticationRef.name", "at least 1 chars"},
		{"scaler", `{"authenticationRef":{"name":"a","kind":"Secret"}}`, ".authenticationRef.kind", "Unsupported value"},
		{"scaler", `{"metricName":""}`, ".metricName", "at least 1 chars"},
		{"scaler", `{"target":{"type":"Utilization"}}`, ".target.type", "must be Value or AverageValue"},
		{"scaler", `{"intervalSeconds":0}`, ".intervalSeconds", "greater than or equal to 1"},
		{"scaler", `{"timeoutSeconds":31}`, ".timeoutSeconds", "less than or equal to 30"},
	} {
		_, err := objects.dryRun(t, workloadAutoscaler, with(t, patched(t, c.source, c.patch)))
		if err := refused(err, "spec.metrics[0]."+c.source+c.field, c.text); err != nil {
			t.Errorf("%s %.80s: %v", c.source, c.patch, err)
		}
	}
	for source := range own {
		kind := strings.ToUpper(source[:1]) + source[1:]
		_, err := objects.dryRun(t, workloadAutoscaler, with(t, fmt.Sprintf(`{"metrics":[{"name":"m","type":%q}]}`, kind)))
		if err := refused(err, "spec.metrics[0]."+source, "must be set where type is "+kind); err != nil {
			t.Error(err)
		}
		other := strings.Replace(patched(t, source, `{}`), kind, "Pods", 1)
		_, err = objects.dryRun(t, workloadAutoscaler, with(t, other))
		if err := refused(err, "spec.metrics[0]."+source, "may be set only where type is "+kind); err != nil {
			t.Error(err)
		}
	}
	_, err := objects.dryRun(t, workloadAutoscaler, with(t, strings.Replace(patched(t, "podEndpoint", `{}`), `{"metrics"`, `{"minReplicas":0,"scaleToZero":{},"metrics"`, 1)))
	if err := refused(err, "spec.minReplicas", "no Object, External, Prometheus"); err != nil {
		t.Error(err)
	}
	for source, isTaken := range map[string]bool{"podEndpoint": false, "prometheus": true, "externalScaler": false, "scaler": false} {
		spec := strings.Replace(patched(t, source, `{}`), `{"metrics":[{`, `{"minReplicas":0,"scaleToZero":{},"metrics":[{"activationValue":"1",`, 1)
		_, err := objects.dryRun(t, workloadAutoscaler, with(t, spec))
		if (err == nil) != isTaken {
			t.Errorf("activationValue of %s: %v", source, err)
		}
	}
}

// Absent fields get the same defaults from the API server as from SetDefaults.
func TestDefaultsOfOwnSources(t *testing.T) {
	t.Parallel()
	objects := objectsOf(t, namespace(t))
	for source, patch := range map[string]string{
		"podEndpoint": `{` + tokens + `}`, "prometheus": `{` + tokens + `}`, "externalScaler": `{"target":null}`,
	} {
		spec := with(t, patched(t, source, patch))
		stored, err := objects.dryRun(t, workloadAutoscaler, spec)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		var ours plimsollv1alpha1.WorkloadAutoscalerSpec
		if err := json.Unmarshal(text, &ours); err != nil {
			t.Fatal(err)
		}
		plimsollv1alpha1.SetDefaults(&ours)
		if text, err = json.Marshal(ours); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stored, decoded(text)); diff != "" {
			t.Errorf("%s (-API server +SetDefaults):\n%s", source, diff)
		}
	}
}

// Objects that are as large as the schema permits are within what the API server spends on its rules.
func TestLargestOwnSourcesAreAccepted(t *testing.T) {
	t.Parallel()
	objects := objectsOf(t, namespace(t))
	metadata := map[string]string{}
	for i := range 64 {
		metadata[fmt.Sprintf("%s%02d", strings.Repeat("k", 98), i)] = strings.Repeat("v", 30)
	}
	tls := `{"serverName":"` + strings.Repeat("s", 253) + `"}`
	for source, patch := range map[string]string{
		"podEndpoint": fmt.Sprintf(`{"port":"fifteen-is-long","path":%q,"scheme":"HTTPS","tlsConfig":%s,"metric":{"name":%q}}`,
			"/"+strings.Repeat("a", 1023), tls, strings.Repeat("m", 1024)),
		"prometheus": fmt.Sprintf(`{"serverAddress":%q,"query":%q,"tenant":{"id":%q},"tlsConfig":%s}`,
			"https://"+strings.Repeat("h", 498)+":65535", strings.Repeat("q", 4096), strings.Repeat("t", 256), tls),
		"externalScaler": fmt.Sprintf(`{"scalerAddress":%q,"scalerMetadata":%s,"metricName":%q,"transport":"TLS","tlsConfig":%s}`,
			strings.Repeat("h", 256)+":65535", encoded(t, metadata), strings.Repeat("m", 1024), tls),
	} {
		one := decoded([]byte(patched(t, source, patch)))["metrics"].([]any)[0]
		spec := with(t, `{"metrics":[`+named(encoded(t, one), 100)+`]}`)
		if _, err := objects.dryRun(t, workloadAutoscaler, spec); err != nil {
			t.Errorf("%s: %.2000s", source, err)
		}
	}
}
