package v1alpha1

// The defaults of the API server, for objects that were read from a file.
const (
	DefaultMinReplicas            = 1
	DefaultCooldownSeconds        = 300
	DefaultInitialCooldownSeconds = 0
	DefaultFailureDurationSeconds = 180
	DefaultTimeZone               = "Etc/UTC"
	DefaultRampSeconds            = 0
	DefaultPath                   = "/metrics"
	DefaultIntervalSeconds        = 5
	DefaultTimeoutSeconds         = 3
	DefaultScalerIntervalSeconds  = 30
	DefaultScalerTimeoutSeconds   = 10
	DefaultPodTimeoutSeconds      = 5
	DefaultPodWindowSeconds       = 15
)

// SetDefaults sets absent fields to the API server's defaults. An object that the API server returned has all of them.
func SetDefaults(spec *WorkloadAutoscalerSpec) {
	setDefault(&spec.MinReplicas, DefaultMinReplicas)
	for i := range spec.Metrics {
		spec.Metrics[i].setDefaults()
	}
	if spec.Behavior != nil {
		spec.Behavior.setDefaults()
	}
	setEmpty(&spec.SelectionStrategy, SelectionStrategyLabelSelector)
	setEmpty(&spec.Mode, ModeActive)
	for i := range spec.Schedules {
		setEmpty(&spec.Schedules[i].TimeZone, DefaultTimeZone)
		setDefault(&spec.Schedules[i].RampSeconds, DefaultRampSeconds)
	}
	if z := spec.ScaleToZero; z != nil {
		setDefault(&z.CooldownSeconds, DefaultCooldownSeconds)
		setDefault(&z.InitialCooldownSeconds, DefaultInitialCooldownSeconds)
	}
}

func (m *MetricSpec) setDefaults() {
	if f := m.Fallback; f != nil {
		setDefault(&f.FailureDurationSeconds, DefaultFailureDurationSeconds)
		setEmpty(&f.Policy, FallbackStatic)
	}
	if s := m.PodEndpoint; s != nil {
		setEmpty(&s.Path, DefaultPath)
		setEmpty(&s.Scheme, HTTPScheme)
		setEmpty(&s.NullValues, NullValuesFail)
		setEmpty(&s.Aggregate, SumAggregate)
		setDefault(&s.TimeoutSeconds, DefaultPodTimeoutSeconds)
		setDefault(&s.WindowSeconds, DefaultPodWindowSeconds)
		s.Authorization.setDefaults()
	}
	if s := m.Prometheus; s != nil {
		setDefault(&s.IntervalSeconds, DefaultIntervalSeconds)
		setDefault(&s.TimeoutSeconds, DefaultTimeoutSeconds)
		setEmpty(&s.NullValues, NullValuesFail)
		if s.Tenant != nil {
			setEmpty(&s.Tenant.Header, ScopeOrgIDTenantHeader)
		}
		s.Authorization.setDefaults()
	}
	if s := m.ExternalScaler; s != nil {
		setDefault(&s.IntervalSeconds, DefaultIntervalSeconds)
		setEmpty(&s.Delivery, PushDelivery)
		setEmpty(&s.Transport, PlaintextTransport)
	}
	if s := m.Scaler; s != nil {
		setDefault(&s.IntervalSeconds, DefaultScalerIntervalSeconds)
		setDefault(&s.TimeoutSeconds, DefaultScalerTimeoutSeconds)
		if s.AuthenticationRef != nil {
			setEmpty(&s.AuthenticationRef.Kind, NamespacedTriggerAuthentication)
		}
	}
}

func (a *Authorization) setDefaults() {
	if a != nil {
		setEmpty(&a.Type, BearerAuthorizationType)
	}
}

func (b *Behavior) setDefaults() {
	setDefault(&b.ScaleUp, ScaleUpRules{})
	setDefault(&b.ScaleUp.StabilizationWindowSeconds, 0)
	setDefault(&b.ScaleUp.SelectPolicy, MaxChangePolicySelect)
	if b.ScaleUp.Policies == nil {
		b.ScaleUp.Policies = []ScalingPolicy{
			{Type: PodsScalingPolicy, Value: 4, PeriodSeconds: 15},
			{Type: PercentScalingPolicy, Value: 100, PeriodSeconds: 15},
		}
	}
	setDefault(&b.ScaleDown, ScaleDownRules{})
	setDefault(&b.ScaleDown.SelectPolicy, MaxChangePolicySelect)
	if b.ScaleDown.Policies == nil {
		b.ScaleDown.Policies = []ScalingPolicy{{Type: PercentScalingPolicy, Value: 100, PeriodSeconds: 15}}
	}
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func setEmpty[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}
