package workloadautoscaler

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// invalid is a change that makes the smallest spec invalid.
type invalid struct {
	patch string
	// field and text are in one cause of the refusal.
	field, text string
	// own is true of what an HPA does not have, or takes.
	own bool
}

const (
	cpu    = `{"metrics":[{"name":"m","type":"Resource","resource":{"name":"cpu","target":%s}}]}`
	app    = `{"metrics":[{"name":"m","type":"ContainerResource","containerResource":{"name":%q,"container":%q,"target":{"type":"Utilization","averageUtilization":50}}}]}`
	pods   = `{"metrics":[{"name":"m","type":"Pods","pods":{"metric":{"name":%q},"target":%s}}]}`
	object = `{"metrics":[{"name":"m","type":"Object","object":{"describedObject":%s,"metric":{"name":"hits"},"target":%s}}]}`
	queue  = `{"metrics":[{"name":"m","type":"External","external":{"metric":{"name":%q},"target":%s}}]}`
	// selected has the selector of a metric of pods.
	selected = `{"metrics":[{"name":"m","type":"Pods",%q:{"metric":{"name":"hits","selector":{%s}},"target":{"type":"AverageValue","averageValue":"5"}}}]}`
	full     = `{"minReplicas":0,"scaleToZero":{},"metrics":[{"name":"m","type":"External","external":{"metric":{"name":"jobs"},"target":{"type":"Value","value":"5"}}%s}]}`
	daily    = `{"schedules":[{"name":"day","start":"0 8 * * *","durationSeconds":3600,"minReplicas":2%s}]}`

	ingress  = `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","name":"shop"}`
	value    = `{"type":"Value","value":"5"}`
	average  = `{"type":"AverageValue","averageValue":"5"}`
	percent  = `{"type":"Utilization","averageUtilization":50}`
	policies = `{"behavior":{"scaleUp":{"policies":[%s]}}}`
)

var invalids = map[string]invalid{
	// The target.
	"no target":              {`{"scaleTargetRef":null}`, "spec.scaleTargetRef", "Required", false},
	"no kind":                {`{"scaleTargetRef":{"kind":null}}`, "spec.scaleTargetRef.kind", "Required", false},
	"empty kind":             {`{"scaleTargetRef":{"kind":""}}`, "spec.scaleTargetRef.kind", "at least 1 chars", false},
	"kind is two dots":       {`{"scaleTargetRef":{"kind":".."}}`, "spec.scaleTargetRef.kind", "must not be '.' or '..'", false},
	"kind with a slash":      {`{"scaleTargetRef":{"kind":"a/b"}}`, "spec.scaleTargetRef.kind", "nor contain '/'", false},
	"no name":                {`{"scaleTargetRef":{"name":null}}`, "spec.scaleTargetRef.name", "Required", false},
	"empty name":             {`{"scaleTargetRef":{"name":""}}`, "spec.scaleTargetRef.name", "at least 1 chars", false},
	"name is a dot":          {`{"scaleTargetRef":{"name":"."}}`, "spec.scaleTargetRef.name", "must not be '.' or '..'", false},
	"name with a percentage": {`{"scaleTargetRef":{"name":"a%2f"}}`, "spec.scaleTargetRef.name", "nor contain '/' or '%'", false},
	"a huge name":            {`{"scaleTargetRef":{"name":"` + strings.Repeat("a", 254) + `"}}`, "spec.scaleTargetRef.name", "may not be more than 253 bytes", true},
	"no group":               {`{"scaleTargetRef":{"apiVersion":null}}`, "spec.scaleTargetRef.apiVersion", "must specify the API group", false},
	"empty group":            {`{"scaleTargetRef":{"apiVersion":"v1"}}`, "spec.scaleTargetRef.apiVersion", "must specify the API group", false},
	"an empty apiVersion":    {`{"scaleTargetRef":{"kind":"ReplicationController","apiVersion":""}}`, "spec.scaleTargetRef.apiVersion", "at least 1 chars", true},
	"three parts":            {`{"scaleTargetRef":{"apiVersion":"apps/v1/v3"}}`, "spec.scaleTargetRef.apiVersion", "a group and a version", false},
	"three parts of a core kind": {`{"scaleTargetRef":{"kind":"ReplicationController","apiVersion":"apps/v1/v3"}}`,
		"spec.scaleTargetRef.apiVersion", "a group and a version", false},

	// The limits.
	"no maxReplicas":           {`{"maxReplicas":null}`, "spec.maxReplicas", "Required", false},
	"maxReplicas 0":            {`{"maxReplicas":0}`, "spec.maxReplicas", "greater than or equal to 1", false},
	"maxReplicas -1":           {`{"maxReplicas":-1}`, "spec.maxReplicas", "greater than or equal to 1", false},
	"maxReplicas of 33 bits":   {`{"maxReplicas":4294967296}`, "", "spec.maxReplicas", false},
	"maxReplicas as a text":    {`{"maxReplicas":"5"}`, "spec.maxReplicas", "integer", false},
	"minReplicas -1":           {`{"minReplicas":-1}`, "spec.minReplicas", "greater than or equal to 0", false},
	"minReplicas above":        {`{"minReplicas":7}`, "spec.maxReplicas", "greater than or equal to minReplicas", false},
	"minReplicas 0 with CPU":   {`{"minReplicas":0,"scaleToZero":{}}`, "spec.minReplicas", "no Object, External, Prometheus", true},
	"minReplicas 0 alone":      {`{"minReplicas":0}`, "spec.minReplicas", "must be at least 1 without scaleToZero", false},
	"scaleToZero alone":        {`{"scaleToZero":{}}`, "spec.scaleToZero", "may be set only where minReplicas is 0", true},
	"a kind in lower case":     {`{"scaleTargetRef":{"kind":"deployment"}}`, "spec.scaleTargetRef.kind", "as its API has it", true},
	"maxReplicas 1000001":      {`{"maxReplicas":1000001}`, "spec.maxReplicas", "less than or equal to 1000000", true},
	"syncPeriodSeconds 2":      {`{"syncPeriodSeconds":2}`, "spec.syncPeriodSeconds", "greater than or equal to 3", true},
	"syncPeriodSeconds 3601":   {`{"syncPeriodSeconds":3601}`, "spec.syncPeriodSeconds", "less than or equal to 3600", true},
	"another selection":        {`{"selectionStrategy":"All"}`, "spec.selectionStrategy", "Unsupported value", true},
	"another mode":             {`{"mode":"Off"}`, "spec.mode", "Unsupported value", true},
	"paused at -1":             {`{"mode":"Paused","paused":{"replicas":-1}}`, "spec.paused.replicas", "greater than or equal to 0", true},
	"paused above maxReplicas": {`{"mode":"Paused","paused":{"replicas":6}}`, "spec.paused.replicas", "less than or equal to maxReplicas", true},
	"paused without replicas":  {`{"mode":"Paused","paused":{}}`, "spec.paused.replicas", "Required", true},
	"paused while Active":      {`{"paused":{"replicas":2}}`, "spec.paused", "may be set only where mode is Paused", true},
	"the plural of KEP-5325":   {`{"selectionStrategy":"OwnerReferences"}`, "spec.selectionStrategy", "Unsupported value", true},
	"cooldownSeconds -1":       {`{"minReplicas":0,"scaleToZero":{"cooldownSeconds":-1}}`, "spec.scaleToZero.cooldownSeconds", "greater than or equal to 0", true},
	"initialCooldownSeconds -1": {`{"minReplicas":0,"scaleToZero":{"initialCooldownSeconds":-1}}`, "spec.scaleToZero.initialCooldownSeconds",
		"greater than or equal to 0", true},

	"another forecast":        {`{"forecast":{"mode":"On"}}`, "spec.forecast.mode", "Unsupported value", true},
	"wasteLimitPercent -1":    {`{"forecast":{"mode":"Active","wasteLimitPercent":-1}}`, "spec.forecast.wasteLimitPercent", "greater than or equal to 0", true},
	"wasteLimitPercent 101":   {`{"forecast":{"mode":"Active","wasteLimitPercent":101}}`, "spec.forecast.wasteLimitPercent", "less than or equal to 100", true},
	"half a percent of waste": {`{"forecast":{"mode":"Active","wasteLimitPercent":0.5}}`, "spec.forecast.wasteLimitPercent", "must be of type int", true},
	"shortageCostFactor 0":    {`{"forecast":{"mode":"Active","shortageCostFactor":0}}`, "spec.forecast.shortageCostFactor", "greater than or equal to 1", true},
	"shortageCostFactor 1001": {`{"forecast":{"mode":"Active","shortageCostFactor":1001}}`, "spec.forecast.shortageCostFactor", "less than or equal to 1000", true},
	"a forecast of no metric": {`{"metrics":null,"schedules":[{"name":"a","start":"@daily","durationSeconds":60,"minReplicas":2}],"forecast":{"mode":"Active"}}`,
		"spec.forecast", "may be set only where there are metrics", true},

	// The metrics.
	"no metrics, no schedules": {`{"metrics":[]}`, "spec.metrics", "must have a metric where there are no schedules", true},
	"absent metrics":           {`{"metrics":null}`, "spec.metrics", "must have a metric where there are no schedules", true},
	"an unnamed metric":        {`{"metrics":[{"type":"Resource","resource":{"name":"cpu","target":` + percent + `}}]}`, "spec.metrics[0].name", "Required", true},
	"a metric's empty name":    {`{"metrics":[{"name":"","type":"Resource","resource":{"name":"cpu","target":` + percent + `}}]}`, "spec.metrics[0].name", "at least 1 chars", true},
	"a metric's name as Queue": {`{"metrics":[{"name":"Queue","type":"Resource","resource":{"name":"cpu","target":` + percent + `}}]}`, "spec.metrics[0].name", "should match", true},
	"two metrics of one name": {`{"metrics":[{"name":"m","type":"Resource","resource":{"name":"cpu","target":` + percent + `}},
		{"name":"m","type":"Resource","resource":{"name":"memory","target":` + average + `}}]}`, "spec.metrics[1]", "Duplicate", true},
	"an empty metric":     {`{"metrics":[{"name":"m"}]}`, "spec.metrics[0].type", "Required", false},
	"another type":        {`{"metrics":[{"name":"m","type":"Datadog"}]}`, "spec.metrics[0].type", "Unsupported value", false},
	"101 metrics":         {`{"metrics":[` + manyMetrics(100) + `{"name":"m","type":"Resource","resource":{"name":"cpu","target":` + percent + `}}]}`, "spec.metrics", "at most 100 items", true},
	"type Resource alone": {`{"metrics":[{"name":"m","type":"Resource"}]}`, "spec.metrics[0].resource", "must be set where type is Resource", false},
	"type ContainerResource alone": {`{"metrics":[{"name":"m","type":"ContainerResource"}]}`, "spec.metrics[0].containerResource",
		"must be set where type is ContainerResource", false},
	"type Pods alone":     {`{"metrics":[{"name":"m","type":"Pods"}]}`, "spec.metrics[0].pods", "must be set where type is Pods", false},
	"type Object alone":   {`{"metrics":[{"name":"m","type":"Object"}]}`, "spec.metrics[0].object", "must be set where type is Object", false},
	"type External alone": {`{"metrics":[{"name":"m","type":"External"}]}`, "spec.metrics[0].external", "must be set where type is External", false},
	"the field of another type": {`{"metrics":[{"name":"m","type":"Resource","pods":{"metric":{"name":"hits"},"target":` + average + `}}]}`,
		"spec.metrics[0].pods", "may be set only where type is Pods", false},
	"two fields": {`{"metrics":[{"name":"m","type":"Pods","resource":{"name":"cpu","target":` + percent + `},"pods":{"metric":{"name":"hits"},"target":` + average + `}}]}`,
		"spec.metrics[0].resource", "may be set only where type is Resource", false},
	"a resource without a name": {`{"metrics":[{"name":"m","type":"Resource","resource":{"target":` + percent + `}}]}`,
		"spec.metrics[0].resource.name", "Required", false},
	"a resource without a target": {`{"metrics":[{"name":"m","type":"Resource","resource":{"name":"cpu"}}]}`,
		"spec.metrics[0].resource.target", "Required", false},
	"a target without a type":       {fmt.Sprintf(cpu, `{"averageUtilization":50}`), "spec.metrics[0].resource.target.type", "Required", false},
	"a target of another type":      {fmt.Sprintf(cpu, `{"type":"Percent","averageUtilization":50}`), "spec.metrics[0].resource.target.type", "Unsupported value", false},
	"a target without a value":      {fmt.Sprintf(cpu, `{"type":"Utilization"}`), "spec.metrics[0].resource.target.averageUtilization", "must be set where type is Utilization", false},
	"a target with a value too few": {fmt.Sprintf(cpu, value), "spec.metrics[0].resource.target.type", "must be Utilization or AverageValue", false},
	"a target with both values": {fmt.Sprintf(cpu, `{"type":"Utilization","averageUtilization":50,"averageValue":"5"}`),
		"spec.metrics[0].resource.target.averageValue", "may be set only where type is AverageValue", false},
	"a type beside the other value": {fmt.Sprintf(cpu, `{"type":"AverageValue","averageUtilization":50}`),
		"spec.metrics[0].resource.target.averageUtilization", "may be set only where type is Utilization", true},
	"a queue's type beside it": {fmt.Sprintf(queue, "jobs", `{"type":"Value","averageValue":"5"}`),
		"spec.metrics[0].external.target.averageValue", "may be set only where type is AverageValue", true},
	"an object with both values": {fmt.Sprintf(object, ingress, `{"type":"Value","value":"5","averageValue":"5"}`),
		"spec.metrics[0].object.target.averageValue", "may be set only where type is AverageValue", true},
	"averageUtilization 0":           {fmt.Sprintf(cpu, `{"type":"Utilization","averageUtilization":0}`), "spec.metrics[0].resource.target.averageUtilization", "greater than or equal to 1", false},
	"averageValue 0":                 {fmt.Sprintf(cpu, `{"type":"AverageValue","averageValue":"0"}`), "spec.metrics[0].resource.target.averageValue", "should match", false},
	"averageValue 0, a number":       {fmt.Sprintf(cpu, `{"type":"AverageValue","averageValue":0}`), "spec.metrics[0].resource.target.averageValue", "must be positive", false},
	"averageValue -1":                {fmt.Sprintf(cpu, `{"type":"AverageValue","averageValue":"-1"}`), "spec.metrics[0].resource.target.averageValue", "should match", false},
	"no container":                   {fmt.Sprintf(app, "cpu", ""), "spec.metrics[0].containerResource.container", "at least 1 chars", false},
	"a container that can not exist": {fmt.Sprintf(app, "cpu", "---***"), "spec.metrics[0].containerResource.container", "should match", false},
	"a container's lone resource":    {fmt.Sprintf(app, "InvalidResource", "app"), "spec.metrics[0].containerResource.name", "must be cpu, memory", false},
	"a quota's resource":             {fmt.Sprintf(app, "requests.nvidia.com/gpu", "app"), "spec.metrics[0].containerResource.name", "must be cpu, memory", false},
	"pods without averageValue":      {fmt.Sprintf(pods, "hits", value), "spec.metrics[0].pods.target.type", "must be AverageValue", false},
	"a metric without a name":        {fmt.Sprintf(pods, "", average), "spec.metrics[0].pods.metric.name", "at least 1 chars", false},
	"a metric with slashes":          {fmt.Sprintf(queue, "foo/../", value), "spec.metrics[0].external.metric.name", "nor contain '/'", false},
	"a huge metric name":             {fmt.Sprintf(queue, strings.Repeat("a", 1025), value), "spec.metrics[0].external.metric.name", "may not be more than 1024 bytes", true},
	"an object without a kind":       {fmt.Sprintf(object, `{"name":"shop"}`, value), "spec.metrics[0].object.describedObject.kind", "Required", false},
	"an object of three parts":       {fmt.Sprintf(object, `{"apiVersion":"a/b/c","kind":"Ingress","name":"shop"}`, value), "spec.metrics[0].object.describedObject.apiVersion", "a group and a version", false},
	"an object without a value":      {fmt.Sprintf(object, ingress, `{"type":"Value"}`), "spec.metrics[0].object.target.value", "must be set where type is Value", false},
	"a queue without a value":        {fmt.Sprintf(queue, "jobs", `{"type":"Value"}`), "spec.metrics[0].external.target.value", "must be set where type is Value", false},
	"a queue with both values":       {fmt.Sprintf(queue, "jobs", `{"type":"Value","value":"5","averageValue":"5"}`), "spec.metrics[0].external.target.averageValue", "may be set only where type is AverageValue", false},
	"a negative queue":               {fmt.Sprintf(queue, "jobs", `{"type":"Value","value":"-300m"}`), "spec.metrics[0].external.target.value", "should match", false},

	// Selectors.
	"an operator of none":         {fmt.Sprintf(selected, "pods", `"matchExpressions":[{"key":"a","operator":"Is","values":["b"]}]`), "spec.metrics[0].pods.metric.selector.matchExpressions[0].operator", "Unsupported value", true},
	"In without values":           {fmt.Sprintf(selected, "pods", `"matchExpressions":[{"key":"a","operator":"In"}]`), "spec.metrics[0].pods.metric.selector.matchExpressions[0].values", "must be set where operator is In or NotIn", true},
	"NotIn with no value":         {fmt.Sprintf(selected, "pods", `"matchExpressions":[{"key":"a","operator":"NotIn","values":[]}]`), "spec.metrics[0].pods.metric.selector.matchExpressions[0].values", "must be set where operator is In or NotIn", true},
	"Exists with values":          {fmt.Sprintf(selected, "pods", `"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]`), "spec.metrics[0].pods.metric.selector.matchExpressions[0].values", "may not be set where operator is Exists", true},
	"DoesNotExist with values":    {fmt.Sprintf(selected, "pods", `"matchExpressions":[{"key":"a","operator":"DoesNotExist","values":["b"]}]`), "spec.metrics[0].pods.metric.selector.matchExpressions[0].values", "may not be set where operator is Exists", true},
	"a requirement without a key": {fmt.Sprintf(selected, "pods", `"matchExpressions":[{"key":"","operator":"Exists"}]`), "spec.metrics[0].pods.metric.selector.matchExpressions[0].key", "at least 1 chars", true},
	"a key that is no label's":    {fmt.Sprintf(selected, "pods", `"matchExpressions":[{"key":"a b","operator":"Exists"}]`), "spec.metrics[0].pods.metric.selector.matchExpressions[0].key", "should match", true},
	"a value that is no label's":  {fmt.Sprintf(selected, "pods", `"matchExpressions":[{"key":"a","operator":"In","values":["/check out"]}]`), "spec.metrics[0].pods.metric.selector.matchExpressions[0].values[0]", "should match", true},
	"a label that is none":        {fmt.Sprintf(selected, "pods", `"matchLabels":{"a b":"c"}`), "spec.metrics[0].pods.metric.selector.matchLabels", "must have keys with the syntax of labels", true},
	"a label's value":             {fmt.Sprintf(selected, "pods", `"matchLabels":{"a":"/check out"}`), "spec.metrics[0].pods.metric.selector.matchLabels.a", "should match", true},
	"257 values":                  {fmt.Sprintf(selected, "pods", `"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a","operator":"In","values":[`+manyValues(255)+`]}]`), "spec.metrics[0].pods.metric.selector", "at most 256 labels and values", true},

	// Quantities.
	"an empty quantity":          {fmt.Sprintf(full, `,"activationValue":""`), "spec.metrics[0].activationValue", "at least 1 chars", true},
	"an exponent of nine digits": {fmt.Sprintf(queue, "jobs", `{"type":"Value","value":"1e999999999"}`), "spec.metrics[0].external.target.value", "should match", true},
	"65 digits":                  {fmt.Sprintf(queue, "jobs", `{"type":"Value","value":"`+strings.Repeat("1", 65)+`"}`), "spec.metrics[0].external.target.value", "may not be more than 64 bytes", true},
	"a number with an exponent":  {fmt.Sprintf(queue, "jobs", `{"type":"Value","value":1e300}`), "spec.metrics[0].external.target.value", "", true},
	"a fraction as a number":     {fmt.Sprintf(queue, "jobs", `{"type":"Value","value":0.5}`), "spec.metrics[0].external.target.value", "integer", true},
	"no quantity":                {fmt.Sprintf(queue, "jobs", `{"type":"Value","value":"five"}`), "spec.metrics[0].external.target.value", "should match", false},
	"a huge tolerance":           {`{"behavior":{"scaleUp":{"tolerance":"1e100"}}}`, "spec.behavior.scaleUp.tolerance", "should match", true},
	"a huge activationValue":     {fmt.Sprintf(full, `,"activationValue":"1e-999999999"`), "spec.metrics[0].activationValue", "should match", true},

	// Fallbacks and activation.
	"a fallback without replicas": {fmt.Sprintf(full, `,"fallback":{}`), "spec.metrics[0].fallback.replicas", "must be set unless policy is CurrentReplicas", true},
	"a fallback of 0 replicas":    {fmt.Sprintf(full, `,"fallback":{"replicas":0}`), "spec.metrics[0].fallback.replicas", "greater than or equal to 1", true},
	"a fallback at once":          {fmt.Sprintf(full, `,"fallback":{"replicas":3,"failureDurationSeconds":0}`), "spec.metrics[0].fallback.failureDurationSeconds", "greater than or equal to 1", true},
	"another fallback":            {fmt.Sprintf(full, `,"fallback":{"replicas":3,"policy":"static"}`), "spec.metrics[0].fallback.policy", "Unsupported value", true},
	"a fallback of the larger without replicas": {fmt.Sprintf(full, `,"fallback":{"policy":"CurrentReplicasIfHigher"}`),
		"spec.metrics[0].fallback.replicas", "must be set unless policy is CurrentReplicas", true},
	"a fallback of the current with replicas": {fmt.Sprintf(full, `,"fallback":{"policy":"CurrentReplicas","replicas":3}`),
		"spec.metrics[0].fallback.replicas", "may not be set where policy is CurrentReplicas", true},
	"a fallback above maxReplicas": {fmt.Sprintf(full, `,"fallback":{"replicas":6}`), "spec.metrics", "spec.metrics[0].fallback.replicas must be less than or equal to spec.maxReplicas", true},
	"activationValue without zero": {`{"metrics":[{"name":"m","type":"External","external":{"metric":{"name":"jobs"},"target":` + value + `},"activationValue":"1"}]}`,
		"spec.metrics", "spec.metrics[0].activationValue may be set only beside scaleToZero", true},
	"activationValue -1": {fmt.Sprintf(full, `,"activationValue":"-1"`), "spec.metrics[0].activationValue", "should match", true},
	"activationValue of CPU": {`{"metrics":[{"name":"m","type":"Resource","resource":{"name":"cpu","target":` + percent + `},"activationValue":"1"}]}`,
		"spec.metrics[0].activationValue", "may be set only where type is Object, External or Prometheus", true},

	// Behavior.
	"no policies":              {`{"behavior":{"scaleDown":{"policies":[]}}}`, "spec.behavior.scaleDown.policies", "at least 1 items", false},
	"a window of -1 s":         {`{"behavior":{"scaleDown":{"stabilizationWindowSeconds":-1}}}`, "spec.behavior.scaleDown.stabilizationWindowSeconds", "greater than or equal to 0", false},
	"a window of 3601 s":       {`{"behavior":{"scaleUp":{"stabilizationWindowSeconds":3601}}}`, "spec.behavior.scaleUp.stabilizationWindowSeconds", "less than or equal to 3600", false},
	"another selectPolicy":     {`{"behavior":{"scaleUp":{"selectPolicy":"Average"}}}`, "spec.behavior.scaleUp.selectPolicy", "Unsupported value", false},
	"another policy":           {fmt.Sprintf(policies, `{"type":"Nodes","value":1,"periodSeconds":15}`), "spec.behavior.scaleUp.policies[0].type", "Unsupported value", false},
	"a policy of 0":            {fmt.Sprintf(policies, `{"type":"Pods","value":0,"periodSeconds":15}`), "spec.behavior.scaleUp.policies[0].value", "greater than or equal to 1", false},
	"a policy without a value": {fmt.Sprintf(policies, `{"type":"Pods","periodSeconds":15}`), "spec.behavior.scaleUp.policies[0].value", "Required", false},
	"a period of 0 s":          {fmt.Sprintf(policies, `{"type":"Pods","value":1,"periodSeconds":0}`), "spec.behavior.scaleUp.policies[0].periodSeconds", "greater than or equal to 1", false},
	"a period of 1801 s":       {fmt.Sprintf(policies, `{"type":"Pods","value":1,"periodSeconds":1801}`), "spec.behavior.scaleUp.policies[0].periodSeconds", "less than or equal to 1800", false},
	"a negative tolerance":     {`{"behavior":{"scaleDown":{"tolerance":"-0.001"}}}`, "spec.behavior.scaleDown.tolerance", "should match", false},

	// Schedules.
	"a schedule without a name":      {fmt.Sprintf(daily, `,"name":null`), "spec.schedules[0].name", "", true},
	"a schedule with a wrong name":   {fmt.Sprintf(daily, `,"name":"Day"`), "spec.schedules[0].name", "should match", true},
	"a schedule twice":               {`{"schedules":[{"name":"a","start":"@daily","durationSeconds":60,"minReplicas":2},{"name":"a","start":"@daily","durationSeconds":60,"minReplicas":3}]}`, "spec.schedules[1]", "Duplicate", true},
	"a schedule without limits":      {fmt.Sprintf(daily, `,"minReplicas":null`), "spec.schedules[0].minReplicas", "must set minReplicas, maxReplicas or both", true},
	"a schedule's min above its max": {fmt.Sprintf(daily, `,"maxReplicas":1`), "spec.schedules[0].maxReplicas", "greater than or equal to minReplicas", true},
	"a schedule's max 0":             {fmt.Sprintf(daily, `,"minReplicas":null,"maxReplicas":0`), "spec.schedules[0].maxReplicas", "greater than or equal to 1", true},
	"a schedule without a start":     {fmt.Sprintf(daily, `,"start":null`), "spec.schedules[0].start", "", true},
	"a start of four fields":         {fmt.Sprintf(daily, `,"start":"0 8 * *"`), "spec.schedules[0].start", "must be a schedule in cron syntax", true},
	"a start at minute 60":           {fmt.Sprintf(daily, `,"start":"60 8 * * *"`), "spec.schedules[0].start", "must be a schedule in cron syntax", true},
	"a start in its own time zone":   {fmt.Sprintf(daily, `,"start":"TZ=UTC 0 8 * * *"`), "spec.schedules[0].start", "must be a schedule in cron syntax", true},
	"a start from Friday to Monday":  {fmt.Sprintf(daily, `,"start":"0 8 * * fri-mon"`), "spec.schedules[0].start", "ranges that begin before they end", true},
	"a start that never comes":       {fmt.Sprintf(daily, `,"start":"0 0 30 2 *"`), "spec.schedules[0].start", "no month that it names has such a day", true},
	"a huge start":                   {fmt.Sprintf(daily, `,"start":"`+strings.Repeat("0,", 64)+`0 8 * * *"`), "spec.schedules[0].start", "may not be more than 128 bytes", true},
	"a schedule without an end":      {fmt.Sprintf(daily, `,"durationSeconds":null`), "spec.schedules[0].end", "must set either end or durationSeconds", true},
	"a schedule with both":           {fmt.Sprintf(daily, `,"end":"0 9 * * *"`), "spec.schedules[0].end", "may not be set beside durationSeconds", true},
	"an end that is the start":       {fmt.Sprintf(daily, `,"durationSeconds":null,"end":"0 8 * * *"`), "spec.schedules[0].end", "must not be the same as start", true},
	"an end at minute 60":            {fmt.Sprintf(daily, `,"durationSeconds":null,"end":"60 8 * * *"`), "spec.schedules[0].end", "must be a schedule in cron syntax", true},
	"an end before the beginning": {fmt.Sprintf(daily, `,"notBefore":"2026-11-30T00:00:00Z","notAfter":"2026-11-27T00:00:00Z"`),
		"spec.schedules[0].notAfter", "must be after notBefore", true},
	"a date without a time":         {fmt.Sprintf(daily, `,"notBefore":"2026-11-30"`), "spec.schedules[0].notBefore", "must be of type date-time", true},
	"a schedule of 59 s":            {fmt.Sprintf(daily, `,"durationSeconds":59`), "spec.schedules[0].durationSeconds", "greater than or equal to 60", true},
	"a schedule of 367 days":        {fmt.Sprintf(daily, `,"durationSeconds":31708800`), "spec.schedules[0].durationSeconds", "less than or equal to 31622400", true},
	"a time zone on Mars":           {fmt.Sprintf(daily, `,"timeZone":"Mars/Olympus"`), "spec.schedules[0].timeZone", "unknown time zone Mars/Olympus", true},
	"a time zone that is an offset": {fmt.Sprintf(daily, `,"timeZone":"+02:00"`), "spec.schedules[0].timeZone", "should match", true},
	"an empty end":                  {fmt.Sprintf(daily, `,"end":""`), "spec.schedules[0].end", "at least 1 chars", true},
	"an empty start":                {fmt.Sprintf(daily, `,"start":""`), "spec.schedules[0].start", "at least 1 chars", true},
	"the API server's time zone":    {fmt.Sprintf(daily, `,"timeZone":"Local"`), "spec.schedules[0].timeZone", "name of a time zone in the IANA database", true},
	"an empty time zone":            {fmt.Sprintf(daily, `,"timeZone":""`), "spec.schedules[0].timeZone", "at least 1 chars", true},
	"a ramp of more than a day":     {fmt.Sprintf(daily, `,"rampSeconds":86401`), "spec.schedules[0].rampSeconds", "less than or equal to 86400", true},
	"minReplicas 0 with CPU, at night": {`{"minReplicas":0,"scaleToZero":{},"schedules":[{"name":"day","start":"@daily","durationSeconds":60,"minReplicas":2}]}`,
		"spec.minReplicas", "no Object, External, Prometheus", true},
	"a schedule's min above maxReplicas": {`{"schedules":[{"name":"noon","start":"@daily","durationSeconds":60,"minReplicas":2},
		{"name":"day","start":"@daily","durationSeconds":60,"minReplicas":6}]}`,
		"spec.schedules", "spec.schedules[1].minReplicas must be less than or equal to spec.maxReplicas", true},
	"a schedule's max below minReplicas": {`{"minReplicas":3,"schedules":[{"name":"night","start":"@daily","durationSeconds":60,"maxReplicas":2}]}`,
		"spec.schedules", "spec.schedules[0].maxReplicas must be greater than or equal to spec.minReplicas", true},
	"a schedule's min below minReplicas": {`{"minReplicas":3,"schedules":[{"name":"noon","start":"@daily","durationSeconds":60,"minReplicas":4},
		{"name":"night","start":"@daily","durationSeconds":60,"minReplicas":2}]}`,
		"spec.schedules", "spec.schedules[1].minReplicas must be greater than or equal to spec.minReplicas", true},
	"a schedule's max above maxReplicas": {`{"schedules":[{"name":"day","start":"@daily","durationSeconds":60,"maxReplicas":9}]}`,
		"spec.schedules", "spec.schedules[0].maxReplicas must be less than or equal to spec.maxReplicas", true},
	"only maxima without metrics": {`{"metrics":null,"schedules":[{"name":"night","start":"@daily","durationSeconds":60,"maxReplicas":2}]}`,
		"spec.schedules", "must have one with minReplicas where there are no metrics", true},
	"an empty forecast": {`{"forecast":{}}`, "spec.forecast.mode", "Required value", true},
	"numbers of no forecast": {`{"forecast":{"mode":"Off","wasteLimitPercent":3}}`, "spec.forecast.mode",
		"must be Preview or Active beside wasteLimitPercent", true},
	"a step above int64": {fmt.Sprintf(daily, `,"start":"*/9223372036854775808 * * * *"`), "spec.schedules[0].start", "must be a schedule in cron syntax", true},
	"11 pages":           {manyPaths(11), "spec.metrics", "at most 10 different paths", true},
	"33 schedules":       {manySchedules(33), "spec.schedules", "at most 32 items", true},
	"an unknown field":   {`{"coolDownPeriod":5}`, "", `unknown field "spec.coolDownPeriod"`, true},
}

func manyMetrics(n int) string {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, `{"name":"m%d","type":"Resource","resource":{"name":"cpu","target":%s}},`, i, percent)
	}
	return list.String()
}

func manyValues(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%q", fmt.Sprint("v", i))
	}
	return strings.Join(list, ",")
}

// manyPaths are metrics of the target's pods, each on a page of its own.
func manyPaths(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"name":"m%d","type":"PodEndpoint","podEndpoint":{"port":80,"path":"/m%d","metric":{"name":"hits"},
			"valueType":"Rate","target":%s}}`, i, i, average)
	}
	return `{"metrics":[` + strings.Join(list, ",") + `]}`
}

func manySchedules(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"name":"s%d","start":"@daily","durationSeconds":60,"minReplicas":2}`, i)
	}
	return `{"schedules":[` + strings.Join(list, ",") + `]}`
}

// Invalid objects are refused with a message that names the field.
func TestInvalidObjectsAreRefused(t *testing.T) {
	t.Parallel()
	objects := objectsOf(t, namespace(t))
	for what, c := range invalids {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, err := objects.dryRun(t, workloadAutoscaler, with(t, c.patch))
			if err := refused(err, c.field, c.text); err != nil {
				t.Error(err)
			}
		})
	}
}

// If the field is an HPA's, an HPA is refused likewise. Older versions of Kubernetes check less of it.
func TestInvalidHPAsAreRefused(t *testing.T) {
	t.Parallel()
	objects := objectsOf(t, namespace(t))
	for what, c := range invalids {
		if c.own {
			continue
		}
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if _, err := objects.dryRun(t, autoscaler, with(t, c.patch)); err == nil {
				t.Errorf("an HPA like it is accepted")
			}
		})
	}
}

// refused is nil if one cause of the error is about the field and has the text.
func refused(err error, field, text string) error {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return errors.New("it is accepted")
	case !errors.As(err, &status):
		return err
	case field == "" && strings.Contains(err.Error(), text):
		return nil
	}
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			if cause.Field == field && strings.Contains(cause.Message, text) || isOlder(cause, field, text) {
				return nil
			}
		}
	}
	return fmt.Errorf("want it refused for %s, %q: %w", field, text, err)
}

var mostBytes = regexp.MustCompile(`^may not be more than (\d+) bytes$`)

// isOlder reports whether a cause is what the API server of 1.30 says instead: it names the fields of a status without
// the status, and has other words for a text that is too long.
func isOlder(cause metav1.StatusCause, field, text string) bool {
	words := mostBytes.ReplaceAllString(text, "may not be longer than $1")
	return (cause.Field == field || "status."+cause.Field == field) && strings.Contains(cause.Message, words)
}
