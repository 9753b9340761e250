package image

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"

	"lazaret.dev/lazaret/internal/fault"
)

const maxAuthFile = 1 << 20

// authFile holds registry credentials as docker login writes them. Credential
// helpers named in it are not run: they are programs found on PATH.
type authFile struct {
	auths map[string]authn.AuthConfig
}

func readAuthFile(path string) (authFile, error) {
	bad := func(err error) (authFile, error) {
		return authFile{}, &fault.Error{
			Kind: fault.Config, Message: fmt.Sprintf("credentials file %q cannot be used", path), Err: err,
			Fix: `give a file with {"auths": {"registry.example": {"auth": "…"}}}`,
		}
	}
	b, err := readBounded(path, maxAuthFile)
	if err != nil {
		return bad(err)
	}
	var file struct {
		Auths map[string]struct {
			Auth          string `json:"auth"`
			Username      string `json:"username"`
			Password      string `json:"password"`
			IdentityToken string `json:"identitytoken"`
			RegistryToken string `json:"registrytoken"`
		} `json:"auths"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return bad(fmt.Errorf("it is not valid JSON")) // the decoder's words could quote a secret
	}
	auths := map[string]authn.AuthConfig{}
	for host, a := range file.Auths {
		c := authn.AuthConfig{Username: a.Username, Password: a.Password, IdentityToken: a.IdentityToken, RegistryToken: a.RegistryToken}
		if a.Auth != "" {
			plain, err := base64.StdEncoding.DecodeString(a.Auth)
			user, password, ok := strings.Cut(string(plain), ":")
			if err != nil || !ok {
				return bad(fmt.Errorf("the entry for %q is not user:password in base64", host))
			}
			c.Username, c.Password = user, strings.TrimRight(password, "\x00")
		}
		auths[bareHost(host)] = c
	}
	return authFile{auths: auths}, nil
}

// bareHost strips what older files wrote around a registry's name.
func bareHost(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "https://"), "http://")
	host, _, _ := strings.Cut(s, "/")
	return host
}

// Resolve returns the credentials for exactly the registry asked for.
func (f authFile) Resolve(r authn.Resource) (authn.Authenticator, error) {
	if c, ok := f.auths[r.RegistryStr()]; ok {
		return authn.FromConfig(c), nil
	}
	return authn.Anonymous, nil
}
