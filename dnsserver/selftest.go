package dnsserver

import (
	"context"
	"fmt"
	"time"

	"github.com/miekg/dns"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/service"
)

func resolve(ctx context.Context, t *service.Trial) error {
	names, err := games.Game{Name: t.Game}.HostNames(t.Domain)
	if err != nil {
		return err
	}
	name := names[0].Name
	question := new(dns.Msg).SetQuestion(dns.Fqdn(name), dns.TypeA)
	for _, network := range []string{"udp4", "tcp4"} {
		ctx, cancel := context.WithTimeout(ctx, service.StepTimeout)
		client := dns.Client{Net: network, Timeout: service.StepTimeout - time.Millisecond}
		answer, _, err := client.ExchangeContext(ctx, question, t.Address("dns"))
		cancel()
		switch {
		case err != nil:
			return err
		case answer.Rcode != dns.RcodeSuccess:
			return fmt.Errorf("%s: %s", name, dns.RcodeToString[answer.Rcode])
		case len(answer.Answer) == 0:
			return fmt.Errorf("%s: no address", name)
		}
	}
	return nil
}
