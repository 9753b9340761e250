package netpolicy

import "lazaret.dev/lazaret/runtime"

// Route is one route the policy installs.
type Route struct {
	To   string
	Deny bool
}

// Routes is routes.
func Routes(n runtime.Network) (list []Route) {
	for _, r := range routes(n) {
		list = append(list, Route{r.to.String(), r.deny})
	}
	return list
}
