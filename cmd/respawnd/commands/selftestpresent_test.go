package commands

import (
	"testing"

	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/internal/service"
)

func TestSelftestOfLeftOutService(t *testing.T) {
	t.Parallel()
	entries := []daemon.Entry{
		{Name: "here", Descriptor: service.Descriptor{Optional: true}}, {Name: "left", Descriptor: service.Descriptor{Optional: true}}, {Name: "other"},
	}
	address := present(func(name string) string { return name + ":1" }, entries, map[string]string{"here": "1"})
	if address("here") != "here:1" || address("left") != "" || address("other") != "other:1" {
		t.Errorf("addresses %q, %q, %q", address("here"), address("left"), address("other"))
	}
}
