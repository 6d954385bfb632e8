package service

// Descriptor describes a service. It does not depend on the settings, but the
// functions in it may use them.
type Descriptor struct {
	// Title says to players what the service is for. Empty: they have nothing to do
	// with it, and the pages leave it out.
	Title string
	// Steps are the steps of the self-test that test the service.
	Steps []Step
}
