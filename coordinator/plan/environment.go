package plan

import (
	"maps"
	"slices"
	"strings"

	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/runtime"
)

// environment is the sandbox's: the image's first, then Lazaret's, then the
// profile's; the last one that sets a name wins. Nothing of the host's environment
// is in it but what the profile forwards by name (SR-3).
func environment(image []string, user runtime.User, ours []string, profile []config.EnvVar) []string {
	vars := map[string]string{"LANG": "C.UTF-8"}
	set := func(list []string) {
		for _, v := range list {
			if name, value, ok := strings.Cut(v, "="); ok && name != "" {
				vars[name] = value
			}
		}
	}
	set(image)
	vars["HOME"] = user.Home
	set(ours)
	for _, v := range profile {
		vars[v.Name] = v.Value
	}
	out := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		out = append(out, name+"="+vars[name])
	}
	return out
}
