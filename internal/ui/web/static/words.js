// What the API calls limits and reasons, in the words of a sentence. What is not known here is shown as it is.

const limits = new Map([
  ["None", ""], ["DesiredWithinRange", ""], ["NotRecorded", "not recorded"],
  ["Tolerance", "within the tolerance of the target"],
  ["TooManyReplicas", "maxReplicas reached"], ["MaxReplicas", "maxReplicas reached"],
  ["TooFewReplicas", "minReplicas reached"], ["MinReplicas", "minReplicas reached"],
  ["ScheduleMinReplicas", "minReplicas of a schedule reached"], ["ScheduleMaxReplicas", "maxReplicas of a schedule reached"],
  ["ScaleUpStabilized", "scale-up waits for its stabilization window"],
  ["ScaleDownStabilized", "scale-down waits for its stabilization window"],
  ["Stabilization", "waits for the stabilization window"],
  ["ScaleUpLimit", "as fast as the scale-up policies permit"], ["ScaleUpRate", "as fast as the scale-up policies permit"],
  ["ScaleDownLimit", "as fast as the scale-down policies permit"], ["ScaleDownRate", "as fast as the scale-down policies permit"],
  ["ForecastApplied", "raised by the forecast"],
  ["Cooldown", "waits for the cooldown period"], ["Paused", "paused"], ["Maintenance", "scaled to 0 by hand"],
  ["NewerSamples", "waits for newer samples"], ["SyncPeriod", "waits for the next sync period"],
  ["FirstReplica", "the first replica comes alone"], ["ActiveMetric", "a metric is active"], ["Inactive", "no metric is active"],
  ["AssumedValues", "pods without a sample hold it back"], ["FewerPods", "not all replicas have a pod yet"],
  ["MorePods", "more pods than replicas share the load"], ["NoReadyPods", "no pod is ready"],
  ["Unusable", "the metrics are not usable yet"], ["MetricsFailed", "the metrics could not be read"],
]);

// limitWords says what limits a count; it is empty where nothing does.
export function limitWords(name) {
  return limits.get(name) ?? name ?? "";
}

const metrics = [
  [/^cpu (container )?resource( utilization( \(percentage of request\))?)?$/, "CPU"],
  [/^memory (container )?resource( utilization( \(percentage of request\))?)?$/, "Memory"],
  [/^Prometheus query /, ""], [/^(pods|external|pod endpoint|external scaler|scaler|[A-Z][A-Za-z]*) metric /, ""], [/\(nil\)$|\(&LabelSelector\{.*$/, ""],
];

// metricWords is what people call a metric.
export function metricWords(name) {
  return metrics.reduce((text, [form, words]) => text.replace(form, words), name);
}

const reasons = new Map([
  ["Current number of replicas below Spec.MinReplicas", "Fewer replicas than minReplicas"],
  ["Current number of replicas above Spec.MaxReplicas", "More replicas than maxReplicas"],
  ["recent recommendations were higher than the current one", "An earlier recommendation was higher"],
]);

// reasonWords is the reason of a change of the replica count.
export function reasonWords(text) {
  const above = /^(.*) above target( in the last \d+ s)?$/.exec(text);
  return above ? `${metricWords(above[1])} above target` : reasons.get(text) ?? text;
}
