package chart

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestBadValuesAreRefused: each message names the value, and what is wrong with it.
func TestBadValuesAreRefused(t *testing.T) {
	for values, want := range map[string][]string{
		"controler: {replicas: 2}":                          {"additional properties 'controler' not allowed"},
		"controller: {replica: 2}":                          {"/controller", "additional properties 'replica' not allowed"},
		"controller: {replicas: two}":                       {"/controller/replicas", "want integer"},
		"controller: {replicas: 0}":                         {"/controller/replicas", "minimum"},
		"controller: {extraArgs: [v=1]}":                    {"/controller/extraArgs/0", "does not match pattern"},
		"controller: {extraArgs: [--kube-api-qps 50]}":      {"/controller/extraArgs/0", "does not match pattern"},
		"controller: {extraArgs: {v: 1}}":                   {"/controller/extraArgs", "want array"},
		"controller: {resources: {requests: {cpus: 1}}}":    {"/controller/resources/requests", "'cpus' not allowed"},
		"controller: {resources: {limits: {memory: 1 Gi}}}": {"/controller/resources/limits/memory"},
		"controller: {resources: {limits: {memory: 1GiB}}}": {"/controller/resources/limits/memory"},
		"controller: {affinity: {podAntiAfinity: {}}}":      {"/controller/affinity", "'podAntiAfinity' not allowed"},
		"controller: {nodeSelector: {ssd: true}}":           {"/controller/nodeSelector/ssd", "want string"},
		"controller: {tolerations: [{keys: a}]}":            {"/controller/tolerations/0", "'keys' not allowed"},
		"controller: {topologySpreadConstraints: [{maxSkew: 1}]}": {
			"/controller/topologySpreadConstraints/0", "missing properties 'topologyKey', 'whenUnsatisfiable'"},
		"admissionController: {replicas: -1}":              {"/admissionController/replicas"},
		"horizontalPodAutoscalers: off":                    {"/horizontalPodAutoscalers", "'auto', 'act', 'shadow', 'ignore'"},
		"horizontalPodAutoscalers: on":                     {"/horizontalPodAutoscalers", "'auto', 'act', 'shadow', 'ignore'"},
		"vertical: true":                                   {"/vertical", "want object"},
		"vertical: {enabled: \"false\"}":                   {"/vertical/enabled", "want boolean"},
		"image: {pullPolicy: Sometimes}":                   {"/image/pullPolicy", "'Always', 'IfNotPresent', 'Never'"},
		"image: {digest: 0123}":                            {"/image/digest", "want string"},
		"image: {digest: sha256:0123}":                     {"/image/digest", "does not match pattern"},
		"image: {repository: a/b@sha256}":                  {"/image/repository"},
		"image: {tag: 1.2}":                                {"/image/tag", "want string"},
		"image: {pullSecrets: [{name: a}]}":                {"/image/pullSecrets/0", "want string"},
		"logging: {format: xml}":                           {"/logging/format", "'json', 'text'"},
		"logging: {verbosity: high}":                       {"/logging/verbosity"},
		"nodeAgent: {namespace: agents}":                   {"/nodeAgent/namespace", "want object"},
		"nodeAgent: {namespace: {name: Agents}}":           {"/nodeAgent/namespace/name"},
		"nodeAgent: {kubeletCgroupRoot: kubelet}":          {"/nodeAgent/kubeletCgroupRoot"},
		"sources: {secret: true}":                          {"/sources", "'secret' not allowed"},
		"monitoring: {serviceMonitor: {interval: 15}}":     {"/monitoring/serviceMonitor/interval", "want string"},
		"monitoring: {serviceMonitor: {interval: 15sec}}":  {"/monitoring/serviceMonitor/interval"},
		"networkPolicies: {metricsFrom: [{namespace: a}]}": {"/networkPolicies/metricsFrom/0", "'namespace' not allowed"},
		"priorityClass: {value: 2000000000}":               {"/priorityClass/value", "maximum"},
		"crds: {install: {}}":                              {"/crds/install", "want boolean"},
		"crds: null":                                       {"missing property 'crds'"},
		"monitoring: null":                                 {"missing property 'monitoring'"},
		"monitoring: {dashboard: null}":                    {"/monitoring", "missing property 'dashboard'"},
		"nodeAgent: {namespace: null}":                     {"/nodeAgent", "missing property 'namespace'"},
		"controller: {serviceAccount: null}":               {"/controller", "missing property 'serviceAccount'"},
		"admissionController: {serviceAccount: null}":      {"/admissionController", "missing property 'serviceAccount'"},
		"nodeAgent: {serviceAccount: null}":                {"/nodeAgent", "missing property 'serviceAccount'"},
		"scalers: {image: null}":                           {"/scalers", "missing property 'image'"},
		"scalers: {tlsSecret: Certificates}":               {"/scalers/tlsSecret"},
		"horizontalPodAutoscalers: null":                   {"missing property 'horizontalPodAutoscalers'"},
		"image: {repository: null}":                        {"/image", "missing property 'repository'"},
		"logging: {format: null}":                          {"/logging", "missing property 'format'"},
		"nodeAgent: {namespace: {name: null}}":             {"/nodeAgent/namespace", "missing property 'name'"},
		"priorityClass: {value: null}":                     {"/priorityClass", "missing property 'value'"},
		// What the schema cannot say, the templates do.
		"controller: {extraArgs: [--components=horizontal]}":                     {"controller.extraArgs: --components is not for extraArgs: set vertical.enabled"},
		"controller: {extraArgs: [--v=2]}":                                       {"set logging.verbosity"},
		"{vertical: {enabled: true}, admissionController: {extraArgs: [--v=2]}}": {"admissionController.extraArgs", "set logging.verbosity"},
		"nodeAgent: {enabled: true, extraArgs: [--logging-format=text]}":         {"nodeAgent.extraArgs", "set logging.format"},
		"commonLabels: {helm.sh/chart: a}":                                       {"commonLabels: the chart sets helm.sh/chart itself"},
		"controller: {podLabels: {app.kubernetes.io/name: a}}":                   {"podLabels: the selectors need app.kubernetes.io/name"},
		"nodeAgent: {enabled: true, namespace: {name: plimsoll-system, create: false}}": {
			"nodeAgent.namespace.name: the agents need a namespace of their own"},
		"monitoring: {dashboard: {enabled: true, labels: {app.kubernetes.io/instance: a}}}": {
			"monitoring.dashboard.labels: the chart sets app.kubernetes.io/instance itself"},
		"priorityClass: {name: \"\"}":                                                   {"priorityClass.name"},
		"controller: {extraArgs: [--leader-elect=false]}":                               {"controller.extraArgs: --leader-elect stays true"},
		"controller: {replicas: 1, extraArgs: [--leader-elect=f]}":                      {"controller.extraArgs: --leader-elect stays true"},
		"scalers: {enabled: true, extraArgs: [--tls-cert-file=/a]}":                     {"set scalers.tlsSecret"},
		"controller: {extraArgs: [\"--scalers-address=a:1\"]}":                          {"set scalers.enabled"},
		"sources: {namedSecrets: [{namespace: shop}]}":                                  {"/sources/namedSecrets/0", "missing property 'names'"},
		"{sources: {secrets: true}, controller: {extraArgs: [--metric-secrets=false]}}": {"set sources.secrets or"},
	} {
		_, _, err := render(t, namespace, values)
		if err == nil {
			t.Errorf("%s: it is accepted", values)
			continue
		}
		for _, text := range want {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: no %q in %v", values, text, err)
			}
		}
	}
}

// TestUnusualValues are taken: those that another chart gives to one that is a part of it, and null.
func TestUnusualValues(t *testing.T) {
	for _, values := range []string{
		"{enabled: true, global: {imageRegistry: a}}", "{podSecurityContext: null, nodeAgent: {enabled: true}}",
		"{controller: {resources: null, extraArgs: null, tolerations: null}, networkPolicies: {metricsFrom: null}}",
	} {
		if objects := mustRender(t, namespace, values); len(objects) < 15 {
			t.Errorf("%s: %d objects", values, len(objects))
		}
	}
}

// TestOtherObjectsStayUnchanged: the agents run in an existing namespace, which belongs to others too. No policy
// selects other pods than Plimsoll's.
func TestOtherObjectsStayUnchanged(t *testing.T) {
	for _, object := range mustRender(t, namespace,
		"nodeAgent: {enabled: true, kubeletCgroupRoot: \"/a: #b\", namespace: {name: default, create: false}}") {
		switch object.GetKind() {
		case "NetworkPolicy":
			selected, _, err := unstructured.NestedString(object.Object, "spec", "podSelector", "matchLabels",
				"app.kubernetes.io/name")
			if err != nil || !strings.HasPrefix(selected, "plimsoll-") {
				t.Errorf("%s selects %q, %v", key(object), selected, err)
			}
		case "DaemonSet":
			containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
			if text := fmt.Sprint(containers); !strings.Contains(text, "--kubelet-cgroup-root=/a: #b") {
				t.Errorf("the flag is cut: %s", text)
			}
		}
	}
}

// TestSecretsOfSources: whoever gets the right to read Secrets gets the flag by which they are read, and none without
// it.
func TestSecretsOfSources(t *testing.T) {
	for values, want := range map[string]int{
		"": 0, "sources: {secrets: true}": 1,
		"sources: {namedSecrets: [{namespace: shop, names: [mimir, loki]}, {namespace: play, names: [mimir]}]}": 2,
	} {
		rights, hasFlag := 0, false
		for _, object := range mustRender(t, namespace, values) {
			if object.GetName() == "plimsoll-source-secrets" && strings.HasSuffix(object.GetKind(), "Role") {
				rights++
				rules, _, _ := unstructured.NestedSlice(object.Object, "rules")
				if isNamed := strings.Contains(fmt.Sprint(rules), "resourceNames:[mimir"); isNamed != (object.GetKind() == "Role") {
					t.Errorf("%s: %s has %v", values, key(object), rules)
				}
			}
			hasFlag = hasFlag || object.GetName() == "plimsoll-controller" && object.GetKind() == "Deployment" &&
				strings.Contains(fmt.Sprint(object.Object), "--metric-secrets")
		}
		if rights != want || hasFlag != (want > 0) {
			t.Errorf("%q: %d rights, want %d; flag %t", values, rights, want, hasFlag)
		}
	}
}

// TestLabelsOfTwo: labels of all objects and of one object may have the same name. The narrower ones win, and the key
// is there once, as what reads YAML strictly wants it: kustomize and GitOps controllers that use it.
func TestLabelsOfTwo(t *testing.T) {
	values := `
commonLabels: {team: all, site: a}
vertical: {enabled: true}
monitoring:
  serviceMonitor: {enabled: true, labels: {team: monitors}}
  prometheusRule: {enabled: true, labels: {team: rules}}
  dashboard: {enabled: true, labels: {team: dashboards}}
`
	found := map[string]string{}
	for _, object := range mustRender(t, namespace, values) {
		if site := object.GetLabels()["site"]; site != "a" {
			t.Errorf("%s: site %q", key(object), site)
		}
		found[object.GetKind()] = object.GetLabels()["team"]
	}
	for kind, want := range map[string]string{"ServiceMonitor": "monitors", "PodMonitor": "monitors",
		"PrometheusRule": "rules", "ConfigMap": "dashboards", "Deployment": "all"} {
		if found[kind] != want {
			t.Errorf("%s: team %q, want %q", kind, found[kind], want)
		}
	}
}

// jsonSchema is what is read of a JSON schema.
type jsonSchema struct {
	Ref                  string `json:"$ref"`
	Type                 string
	Properties           map[string]jsonSchema
	AdditionalProperties any
	Required             []string
	Definitions          map[string]jsonSchema
}

// TestSchemaHasEachValue: what the schema permits and what values.yaml has are the same keys, and no object that lists
// its properties permits others.
func TestSchemaHasEachValue(t *testing.T) {
	var whole jsonSchema
	var defaults map[string]any
	if err := json.Unmarshal([]byte(read(t, chartDir+"/values.schema.json")), &whole); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(read(t, chartDir+"/values.yaml")), &defaults); err != nil {
		t.Fatal(err)
	}
	for _, ofHelm := range []string{"global", "enabled"} { // Where it is part of another chart; no values of this one.
		delete(whole.Properties, ofHelm)
	}
	definitions := whole.Definitions
	// What Kubernetes has more properties of than a default shows.
	isKubernetes := map[string]bool{"quantities": true, "affinity": true}
	var compare func(path string, s jsonSchema, value any)
	compare = func(path string, s jsonSchema, value any) {
		if s.Ref != "" {
			name := strings.TrimPrefix(s.Ref, "#/definitions/")
			if isKubernetes[name] {
				return
			}
			s = definitions[name]
		}
		if len(s.Properties) == 0 {
			return
		}
		if s.AdditionalProperties != false {
			t.Errorf("%s permits other keys", path)
		}
		object, ok := value.(map[string]any)
		if !ok {
			t.Errorf("%s: the default is %v", path, value)
			return
		}
		got, want := slices.Sorted(maps.Keys(object)), slices.Sorted(maps.Keys(s.Properties))
		if !slices.Equal(got, want) {
			t.Errorf("%s: values.yaml has %q, the schema %q", path, got, want)
		}
		for key, property := range s.Properties {
			if len(property.Properties) > 0 && !slices.Contains(s.Required, key) {
				t.Errorf("%s.%s is not required: without it, templates end in a nil pointer", path, key)
			}
			compare(fmt.Sprintf("%s.%s", path, key), property, object[key])
		}
	}
	compare("values", whole, defaults)
}
