package v1alpha1

// Authorization is a token for a server.
type Authorization struct {
	// The scheme of the token.
	// +optional
	// +kubebuilder:default=Bearer
	Type AuthorizationType `json:"type,omitempty"`

	// The token.
	Credentials SecretKeySelector `json:"credentials"`
}

// AuthorizationType is the scheme of a token.
//
// +kubebuilder:validation:Enum=Bearer
type AuthorizationType string

// The schemes.
const (
	BearerAuthorizationType AuthorizationType = "Bearer"
)

// BasicAuth is a user and password for a server.
type BasicAuth struct {
	// The user.
	Username SecretKeySelector `json:"username"`

	// The password.
	Password SecretKeySelector `json:"password"`
}

// SecretKeySelector is one key of a Secret in the same namespace. The Secret's annotation
// plimsoll.dev/metric-hosts names the servers that may get it.
type SecretKeySelector struct {
	// The name of the Secret.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`

	// The key in the Secret's data.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key"`
}

// TLSConfig is how a server's certificate is checked, and which certificate it gets.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.ca) || !has(self.caBundle)`,message="may not be set beside caBundle",fieldPath=".ca",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`has(self.cert) == has(self.keySecret)`,message="must be set together with keySecret, and not without it",fieldPath=".cert"
type TLSConfig struct {
	// The certificates of the authorities that are trusted, in PEM.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	CABundle []byte `json:"caBundle,omitempty"`

	// The same, from a Secret.
	// +optional
	CA *CertificateSource `json:"ca,omitempty"`

	// The client's certificate, in PEM.
	// +optional
	Cert *CertificateSource `json:"cert,omitempty"`

	// The client's key, in PEM.
	// +optional
	KeySecret *SecretKeySelector `json:"keySecret,omitempty"`

	// The name that the server's certificate must have, if it is not that of the address.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`
	ServerName string `json:"serverName,omitempty"`

	// Whether any certificate is accepted. The values may then be anyone's.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// CertificateSource is where a certificate is.
type CertificateSource struct {
	// A key of a Secret.
	Secret SecretKeySelector `json:"secret"`
}
