// Package bundle turns the Spec of a Domain generation into the OCI
// configuration its sandbox runs from. It is pure: the same input gives the same
// bytes, and nothing is opened, asked or created.
//
// It promises that what the configuration grants is exactly what is written here:
// the capabilities, the mounts and the namespaces are closed lists, and no path of
// the host appears in them but those the Supervisor named in View.
//
// It imports only the runtime contract, runtime/guest/control and the OCI
// specification; never runsc.
package bundle
