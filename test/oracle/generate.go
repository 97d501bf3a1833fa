package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

// generator makes the situations of one timeline, each from the one before and
// from the count that the controller left.
type generator struct {
	*rand.Rand
	left int
	at   time.Duration
	spec autoscalingv2.HorizontalPodAutoscalerSpec

	kind     string
	template template
	pods     []*corev1.Pod
	serial   int
	// surge is how many pods a rollout makes beyond the count.
	surge int
	// levels are the loads as multiples of the target: of resources by their name,
	// of the others by the metric's.
	levels map[string]float64
	// wild timelines have hostile numbers and texts, calm ones no failures.
	wild, calm bool
	// zero timelines go to zero and back; in those with a demand the load does not
	// grow with the count, so that scaling helps.
	zero, demand bool
	// asleep says that the target is at zero.
	asleep bool
	// windows timelines edit their windows often.
	windows bool
	// lengthened says that an edit made a window longer.
	lengthened bool
	rival      bool
	// alone timelines never have a second object on the target.
	alone bool
	// unreadable says that no metric can be read in this step.
	unreadable bool
	// dark is for how many steps no pod is ready.
	dark  int
	begun time.Time
}

func newGenerator(seed, timeline uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, timeline)), levels: map[string]float64{}, at: 5 * time.Second}
	g.left = 10 + g.IntN(30)
	g.wild, g.calm = g.IntN(12) == 0, g.IntN(4) == 0
	g.zero, g.demand, g.windows = g.IntN(6) == 0, g.IntN(3) > 0, g.IntN(10) == 0
	g.kind = pick(g, "Deployment", "ReplicationController")
	g.template = g.newTemplate()
	g.spec = g.newSpec()
	return g
}

// next implements the timeline.
func (g *generator) next(w *world) *Situation {
	if g.left == 0 {
		return nil
	}
	g.begun = w.begun
	s := &Situation{At: g.at}
	first := w.hpa(object) == nil
	s.Scale = g.scale(w.replicas(), first)
	g.asleep, g.unreadable = s.Scale.Spec == 0, false
	g.events(s, first)
	g.livePods(int(s.Scale.Spec))
	g.darken()
	s.Spec = *g.spec.DeepCopy()
	s.Pods = slices.Clone(g.pods)
	s.Scale.Status = int32(len(g.pods))
	if g.chance(30) {
		s.Scale.Status = max(0, s.Scale.Status+int32(g.IntN(5))-2)
	}
	s.Answers = g.answers(s)
	if g.trouble(80) {
		s.StatusError = "status is not taken"
	}
	s.Rival, s.Lengthened, s.Wild = g.rival, g.lengthened, g.wild
	g.left--
	g.at += g.pause()
	return s
}

// chance is true once in n times.
func (g *generator) chance(n int) bool { return g.IntN(n) == 0 }

// trouble is chance, but never in calm timelines.
func (g *generator) trouble(n int) bool { return !g.calm && g.IntN(n) == 0 }

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

// pause is the time to the next step. It keeps to tenths of a second, so that no
// second ends while a conflicting write is tried again: Plimsoll stamps a
// decision's conditions at its end, upstream each as it comes.
func (g *generator) pause() time.Duration {
	if g.zero && g.chance(2) {
		return 6 * time.Minute
	}
	if g.IntN(10) < 7 {
		return 15 * time.Second
	}
	return pick(g, 5*time.Second, 30*time.Second, time.Minute, 2*time.Minute, 5*time.Minute, 6*time.Minute, time.Hour,
		time.Duration(5+g.IntN(400))*time.Second+300*time.Millisecond)
}

func (g *generator) scale(replicas int32, first bool) Scale {
	s := Scale{Kind: g.kind, Spec: replicas, Selector: "app=web"}
	switch {
	case first && g.at == 5*time.Second:
		s.Spec = int32(pick(g, 1, 1, 2, 3, 5, 5, 8, 12, 20))
	case g.chance(25):
		s.Spec = int32(pick(g, 0, 1, 2, 4, 9, 30))
	case replicas == 0 && !g.zero && g.chance(3):
		s.Spec = 3
	case replicas == 0 && g.zero && g.chance(10):
		// Another writer ends it.
		s.Spec = int32(pick(g, 1, 3))
	}
	if g.trouble(30) {
		s.WriteError = "the server is unwell"
	}
	if g.trouble(30) {
		s.Conflicts = 1 + g.IntN(6)
	}
	if g.kind != "Deployment" {
		if g.trouble(40) {
			s.GetError = "no scale today"
		}
		if g.trouble(60) {
			s.Selector = pick(g, "", "app in (", "!!", "app=other", "app in (web,other)")
		}
	}
	return s
}

// events are the rarer things.
func (g *generator) events(s *Situation, first bool) {
	if first || g.moveMin(s) || g.specEvent(s) {
		return
	}
	switch {
	case g.trouble(60):
		s.Recreate = true
		s.Note = "recreated"
	case g.trouble(50):
		// Which of two objects a new controller decides first is chance.
		s.Restart, g.rival = true, false
		s.Note = "controller restarted"
	case g.trouble(40):
		g.rival = !g.rival && !g.alone
	case g.chance(15):
		g.template = g.newTemplate()
		g.surge = 1 + g.IntN(5)
		s.Note = "rollout"
	case g.trouble(25):
		g.dark = 1 + g.IntN(3)
		s.Note = "no pod is ready"
	case g.trouble(20):
		g.pods = append(g.pods, g.stray())
		s.Note = "a pod that does not count"
	case g.chance(5):
		g.surge = 0
	}
}

// specEvent is a change of the spec, if one happens.
func (g *generator) specEvent(s *Situation) bool {
	switch {
	case g.windows && g.chance(4):
		before := *g.spec.DeepCopy()
		g.editWindows()
		g.lengthened = g.lengthened || longer(&before, &g.spec)
		s.Note = "edited windows"
	case g.chance(40):
		before := g.spec
		g.spec = g.newSpec()
		g.lengthened = g.lengthened || longer(&before, &g.spec)
		s.Note = "new spec"
	case g.chance(30):
		g.editSpec()
		s.Note = "edited spec"
	default:
		return false
	}
	return true
}

// moveMin gives a target at zero a min above zero, mostly while no metric can be read, and lets it go to zero again
// later.
func (g *generator) moveMin(s *Situation) bool {
	switch {
	case !g.zero:
		return false
	case g.asleep && g.chance(6):
		least := min(int32(pick(g, 1, 1, 2, 3)), g.spec.MaxReplicas)
		g.spec.MinReplicas, g.unreadable = &least, !g.calm && g.IntN(4) > 0
	case !g.asleep && *g.spec.MinReplicas > 0 && g.chance(8):
		g.spec.MinReplicas = g.minReplicas(g.spec.Metrics, g.spec.MaxReplicas)
	default:
		return false
	}
	s.Note = "another min"
	return true
}

func (g *generator) editSpec() {
	before := *g.spec.DeepCopy()
	switch g.IntN(5) {
	case 0:
		g.spec.MaxReplicas = max(1, g.spec.MaxReplicas+int32(g.IntN(9))-4)
		if g.spec.MinReplicas != nil {
			g.spec.MaxReplicas = max(g.spec.MaxReplicas, *g.spec.MinReplicas)
		}
	case 1:
		g.spec.MinReplicas = g.minReplicas(g.spec.Metrics, g.spec.MaxReplicas)
	case 2, 3:
		g.editWindows()
	default:
		g.spec.Behavior = g.behavior()
	}
	g.spec = defaulted(g.spec)
	g.lengthened = g.lengthened || longer(&before, &g.spec)
}

// editWindows changes how far back the object looks, and nothing else.
func (g *generator) editWindows() {
	if g.spec.Behavior == nil {
		g.spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{}
		g.spec = defaulted(g.spec)
	}
	for _, rules := range []*autoscalingv2.HPAScalingRules{g.spec.Behavior.ScaleUp, g.spec.Behavior.ScaleDown} {
		if g.IntN(3) > 0 {
			seconds := int32(pick(g, 0, 15, 60, 300, 1800, 3600))
			rules.StabilizationWindowSeconds = &seconds
		}
	}
}

func (g *generator) name() string {
	g.serial++
	return fmt.Sprintf("web-%d", g.serial)
}

// longer reports whether the windows of the new spec reach further back than
// those of the old: which recommendations upstream still has from then is chance.
func longer(old, edited *autoscalingv2.HorizontalPodAutoscalerSpec) bool {
	return window(edited) > window(old)
}

// window is how far back in seconds a spec uses recommendations.
func window(spec *autoscalingv2.HorizontalPodAutoscalerSpec) int32 {
	const flag = 300
	if spec.Behavior == nil {
		return flag
	}
	up, down := spec.Behavior.ScaleUp.StabilizationWindowSeconds, spec.Behavior.ScaleDown.StabilizationWindowSeconds
	if down == nil {
		return max(*up, flag)
	}
	return max(*up, *down)
}
