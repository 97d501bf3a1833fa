package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Schedule tightens the limits of the replica count from each start to its end: for a
// duration, or until a time of the clock.
//
// +kubebuilder:validation:XValidation:rule=`has(self.minReplicas) || has(self.maxReplicas)`,message="must set minReplicas, maxReplicas or both",fieldPath=".minReplicas",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas`,message="must be greater than or equal to minReplicas",fieldPath=".maxReplicas"
// +kubebuilder:validation:XValidation:rule=`has(self.durationSeconds) || has(self.end)`,message="must set either end or durationSeconds",fieldPath=".end",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`!has(self.durationSeconds) || !has(self.end)`,message="may not be set beside durationSeconds",fieldPath=".end",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`!has(self.end) || self.end != self.start`,message="must not be the same as start",fieldPath=".end"
// +kubebuilder:validation:XValidation:rule=`!has(self.notBefore) || !has(self.notAfter) || self.notBefore < self.notAfter`,message="must be after notBefore",fieldPath=".notAfter"
type Schedule struct {
	// The name of the schedule, for status, conditions and events.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// The time zone of start and end, by its name in the IANA database, such as
	// Europe/Berlin. The default is Etc/UTC.
	// +optional
	// +kubebuilder:default="Etc/UTC"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+.-]+(/[A-Za-z0-9_+.-]+)*$`
	// +kubebuilder:validation:XValidation:rule=`self.lowerAscii() != 'local' && timestamp('2000-01-01T00:00:00Z').getHours(self) >= 0`,message="must be the name of a time zone in the IANA database"
	TimeZone string `json:"timeZone,omitempty"`

	// When the schedule starts, in the cron syntax of a CronJob: minute, hour, day of the
	// month, month and day of the week, such as "0 8 * * mon-fri"; or @hourly, @daily,
	// @weekly, @monthly or @yearly. It may not have a time zone, such as TZ=UTC. A start in
	// an hour that the clock leaves out takes place when the clock is set forward.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule=`self.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|(([*?]|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]{0,8})?,)*([*?]|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]{0,8})?[ \t]+(([*?]|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]{0,8})?,)*([*?]|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]{0,8})?[ \t]+(([*?]|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[1-9][0-9]{0,8})?,)*([*?]|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[1-9][0-9]{0,8})?[ \t]+(([*?]|(0?[1-9]|1[0-2]|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))(-(0?[1-9]|1[0-2]|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)))?)(/[1-9][0-9]{0,8})?,)*([*?]|(0?[1-9]|1[0-2]|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))(-(0?[1-9]|1[0-2]|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)))?)(/[1-9][0-9]{0,8})?[ \t]+(([*?]|(0?[0-6]|(?i:sun|mon|tue|wed|thu|fri|sat))(-(0?[0-6]|(?i:sun|mon|tue|wed|thu|fri|sat)))?)(/[1-9][0-9]{0,8})?,)*([*?]|(0?[0-6]|(?i:sun|mon|tue|wed|thu|fri|sat))(-(0?[0-6]|(?i:sun|mon|tue|wed|thu|fri|sat)))?)(/[1-9][0-9]{0,8})?)$')`,message="must be a schedule in cron syntax: minute, hour, day of the month, month and day of the week, such as '0 8 * * mon-fri'"
	// +kubebuilder:validation:XValidation:rule=`self.lowerAscii().replace('sun', '0').replace('mon', '1').replace('tue', '2').replace('wed', '3').replace('thu', '4').replace('fri', '5').replace('sat', '6').replace('jan', '1').replace('feb', '2').replace('mar', '3').replace('apr', '4').replace('may', '5').replace('jun', '6').replace('jul', '7').replace('aug', '8').replace('sep', '9').replace('oct', '10').replace('nov', '11').replace('dec', '12').findAll('[0-9]+-[0-9]+').all(r, int(r.split('-')[0]) <= int(r.split('-')[1]))`,message="must have ranges that begin before they end"
	// +kubebuilder:validation:XValidation:rule=`!self.matches('^[^ \t]+[ \t]+[^ \t]+[ \t]+((3[01]|30-31)(,(3[01]|30-31))*[ \t]+(0?2|(?i:feb))|31(,31)*[ \t]+(0?[2469]|11|(?i:feb|apr|jun|sep|nov))(,(0?[2469]|11|(?i:feb|apr|jun|sep|nov)))*)[ \t]+[*?]$')`,message="must come: no month that it names has such a day"
	Start string `json:"start"`

	// How long the schedule stays in force after each start, in seconds: a minute to 366
	// days. Either this or end must be set.
	// +optional
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=31622400
	DurationSeconds *int32 `json:"durationSeconds,omitempty"`

	// When the schedule ends, in the syntax of start: each start is in force until the
	// next end, also in nights in which the clock changes. Either this or durationSeconds
	// must be set.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule=`self.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|(([*?]|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]{0,8})?,)*([*?]|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]{0,8})?[ \t]+(([*?]|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]{0,8})?,)*([*?]|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]{0,8})?[ \t]+(([*?]|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[1-9][0-9]{0,8})?,)*([*?]|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[1-9][0-9]{0,8})?[ \t]+(([*?]|(0?[1-9]|1[0-2]|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))(-(0?[1-9]|1[0-2]|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)))?)(/[1-9][0-9]{0,8})?,)*([*?]|(0?[1-9]|1[0-2]|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))(-(0?[1-9]|1[0-2]|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)))?)(/[1-9][0-9]{0,8})?[ \t]+(([*?]|(0?[0-6]|(?i:sun|mon|tue|wed|thu|fri|sat))(-(0?[0-6]|(?i:sun|mon|tue|wed|thu|fri|sat)))?)(/[1-9][0-9]{0,8})?,)*([*?]|(0?[0-6]|(?i:sun|mon|tue|wed|thu|fri|sat))(-(0?[0-6]|(?i:sun|mon|tue|wed|thu|fri|sat)))?)(/[1-9][0-9]{0,8})?)$')`,message="must be a schedule in cron syntax: minute, hour, day of the month, month and day of the week, such as '0 8 * * mon-fri'"
	// +kubebuilder:validation:XValidation:rule=`self.lowerAscii().replace('sun', '0').replace('mon', '1').replace('tue', '2').replace('wed', '3').replace('thu', '4').replace('fri', '5').replace('sat', '6').replace('jan', '1').replace('feb', '2').replace('mar', '3').replace('apr', '4').replace('may', '5').replace('jun', '6').replace('jul', '7').replace('aug', '8').replace('sep', '9').replace('oct', '10').replace('nov', '11').replace('dec', '12').findAll('[0-9]+-[0-9]+').all(r, int(r.split('-')[0]) <= int(r.split('-')[1]))`,message="must have ranges that begin before they end"
	// +kubebuilder:validation:XValidation:rule=`!self.matches('^[^ \t]+[ \t]+[^ \t]+[ \t]+((3[01]|30-31)(,(3[01]|30-31))*[ \t]+(0?2|(?i:feb))|31(,31)*[ \t]+(0?[2469]|11|(?i:feb|apr|jun|sep|nov))(,(0?[2469]|11|(?i:feb|apr|jun|sep|nov)))*)[ \t]+[*?]$')`,message="must come: no month that it names has such a day"
	End string `json:"end,omitempty"`

	// The schedule is not in force before this time; a ramp may begin before it. Without it
	// the schedule is in force from its last start on, even if the object is newer than that.
	// +optional
	NotBefore *metav1.Time `json:"notBefore,omitempty"`

	// The schedule is not in force from this time on. Without it the schedule continues forever.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`

	// Whether the schedule is suspended: it is neither in force nor ramps. The default is false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// The fewest replicas while the schedule is in force. It cannot lower the
	// autoscaler's own minReplicas, and must not be above its own maxReplicas.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// The most replicas while the schedule is in force. It cannot raise the autoscaler's
	// own maxReplicas, and must not be below its own minReplicas. The count falls to it as
	// fast as the policies of behavior.scaleDown permit, and not at all where its
	// selectPolicy is Disabled.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`

	// How long before the start the limits begin to change, in seconds, up to a day: the
	// fewest replicas rise, and the most fall, step by step, so that the schedule's are
	// reached at the start. The default is 0: they change at the start.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	RampSeconds *int32 `json:"rampSeconds,omitempty"`
}
