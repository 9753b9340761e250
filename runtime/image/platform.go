package image

import v1 "github.com/google/go-containerregistry/pkg/v1"

// The one platform Lazaret runs.
const (
	platformOS   = "linux"
	platformArch = "amd64"
	platformName = platformOS + "/" + platformArch
)

// platformFits says whether p, nil when an image does not say, is ours.
func platformFits(p *v1.Platform) bool {
	return p == nil || (p.OS == platformOS && p.Architecture == platformArch)
}
