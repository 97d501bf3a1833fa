package vertical

// What the comparisons run of upstream, so that the module file names it before
// each of them is there.
import (
	_ "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod/patch"
	_ "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/vpa"
	_ "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/checkpoint"
	_ "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/logic"
	_ "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"
	_ "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/routines"
	_ "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/priority"
	_ "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/restriction"
	_ "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
)
