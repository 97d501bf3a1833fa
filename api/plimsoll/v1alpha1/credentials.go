package v1alpha1

// Authorization is a token for a server.
type Authorization struct {
	// The scheme of the token. The default, and the only one, is Bearer.
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
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`

	// The key in the Secret's data.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key"`
}

// TLSConfig configures the verification of a server's certificate, and the client certificate. An empty one means the
// same as none: the system's certificate authorities are trusted.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.ca) || !has(self.caBundle)`,message="may not be set beside caBundle",fieldPath=".ca",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`!has(self.insecureSkipVerify) || !self.insecureSkipVerify || (!has(self.ca) && !has(self.caBundle))`,message="may not be true beside ca or caBundle, which would check nothing",fieldPath=".insecureSkipVerify",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`has(self.cert) == has(self.key)`,message="must be set together with key, and not without it",fieldPath=".cert"
type TLSConfig struct {
	// The certificates of the authorities that are trusted, in PEM, encoded in base64.
	// Without it and ca the system's authorities are trusted.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	CABundle []byte `json:"caBundle,omitempty"`

	// The same, from a Secret. It may not be set beside caBundle.
	// +optional
	CA *SecretSource `json:"ca,omitempty"`

	// The client's certificate, in PEM, for a server that requires one. It needs key.
	// +optional
	Cert *SecretSource `json:"cert,omitempty"`

	// The client's key, in PEM. It needs cert.
	// +optional
	Key *SecretSource `json:"key,omitempty"`

	// The name that the server's certificate must have. The default is the host of the address.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`
	ServerName string `json:"serverName,omitempty"`

	// Whether any certificate is accepted. The default is false. With true any server can provide the values. It may not
	// be true beside ca or caBundle.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// SecretSource is the source of a certificate or a key.
type SecretSource struct {
	// A key of a Secret.
	Secret SecretKeySelector `json:"secret"`
}
