package adapter

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	allowedUser = "system:serviceaccount:plimsoll:controller"
	frontProxy  = "front-proxy-client"
)

// authority signs certificates for a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t}
	issued := a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	a.cert, a.key, a.pem = issued.cert, issued.key, issued.certPEM
	return a
}

type issued struct {
	cert            *x509.Certificate
	key             *ecdsa.PrivateKey
	certPEM, keyPEM []byte
}

func (a *authority) issue(template *x509.Certificate) issued {
	a.t.Helper()
	must := func(err error) {
		if err != nil {
			a.t.Fatal(err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	parent, signer := template, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	must(err)
	cert, err := x509.ParseCertificate(der)
	must(err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(err)
	return issued{
		cert: cert, key: key, certPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		keyPEM: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	}
}

func (a *authority) server() (certPEM, keyPEM []byte) {
	i := a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "adapter"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return i.certPEM, i.keyPEM
}

func (a *authority) client(name string) (certPEM, keyPEM []byte) {
	i := a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return i.certPEM, i.keyPEM
}

// miniAPIServer has what delegated authentication and authorization need of an API server.
type miniAPIServer struct {
	kubeconfig string
	reviews    atomic.Int64 // subject access reviews answered
}

func newMiniAPIServer(t *testing.T, proxyCA *authority) *miniAPIServer {
	t.Helper()
	m := &miniAPIServer{}
	mux := http.NewServeMux()
	configMap := corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "kube-system", Name: "extension-apiserver-authentication", ResourceVersion: "1",
		},
		Data: map[string]string{
			"client-ca-file":                     string(newAuthority(t, "client CA").pem),
			"requestheader-client-ca-file":       string(proxyCA.pem),
			"requestheader-allowed-names":        `["` + frontProxy + `"]`,
			"requestheader-username-headers":     `["X-Remote-User"]`,
			"requestheader-group-headers":        `["X-Remote-Group"]`,
			"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
			"requestheader-uid-headers":          `["X-Remote-Uid"]`,
		},
	}
	mux.HandleFunc("GET /api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication",
		func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, configMap) })
	mux.HandleFunc("GET /api/v1/namespaces/kube-system/configmaps", func(w http.ResponseWriter, r *http.Request) {
		switch query := r.URL.Query(); {
		case query.Get("watch") != "":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusOK)
			if query.Get("sendInitialEvents") == "true" {
				writeInitialEvents(w, configMap)
			}
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done() // nothing ever changes
		default:
			writeJSON(w, http.StatusOK, corev1.ConfigMapList{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"},
				ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.ConfigMap{configMap},
			})
		}
	})
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/tokenreviews", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusCreated, authenticationv1.TokenReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"},
		})
	})
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/subjectaccessreviews",
		func(w http.ResponseWriter, r *http.Request) {
			m.reviews.Add(1)
			var review authorizationv1.SubjectAccessReview
			if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			review.Status.Allowed = review.Spec.User == allowedUser
			review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
			writeJSON(w, http.StatusCreated, review)
		})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the adapter asked for %s %s", r.Method, r.URL)
		http.NotFound(w, r)
	})
	server := httptest.NewServer(asJSON(mux))
	t.Cleanup(func() {
		server.CloseClientConnections() // ends the watches
		server.Close()
	})
	m.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL}
	config.AuthInfos["u"] = clientcmdapi.NewAuthInfo()
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	if err := clientcmd.WriteToFile(*config, m.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return m
}

// writeInitialEvents begins a watch that is to stand for a list: the object, and the bookmark that ends the list.
func writeInitialEvents(w http.ResponseWriter, configMap corev1.ConfigMap) {
	end := corev1.ConfigMap{TypeMeta: configMap.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: "1", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
	encoder := json.NewEncoder(w)
	_ = encoder.Encode(map[string]any{"type": watch.Added, "object": configMap})
	_ = encoder.Encode(map[string]any{"type": watch.Bookmark, "object": end})
}

// asJSON refuses bodies in protobuf, which clients prefer, so that they try JSON next.
func asJSON(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Content-Type"), "protobuf") ||
			strings.Contains(r.Header.Get("Content-Type"), "cbor") {
			http.Error(w, "only JSON is understood here", http.StatusUnsupportedMediaType)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func writeJSON(w http.ResponseWriter, status int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(object)
}

func writeFile(t *testing.T, name string, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
