package network

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/sources/openapi"
)

// ErrPushAddress marks an address that pushes must not reach: a private or
// loopback one, unless the configuration allows these, or a link-local one.
var ErrPushAddress = errors.New("address not allowed")

const (
	// maxPushAnswer bounds what is read of a receiver's answer, in bytes.
	maxPushAnswer = 1 << 10
	// maxPushReason bounds a reason in the database, in bytes.
	maxPushReason = 200
)

// errNotReceived is the answer -1.
var errNotReceived = errors.New("the receiver answered -1")

// pushTransport is the way to the receivers. It takes no proxy, because a proxy
// would hide which address is reached, and asks for no compression, so that the
// bound on an answer is a bound on what was sent.
func pushTransport(allowPrivate bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Control: pushControl(allowPrivate)}
	return &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
		DisableCompression: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	}
}

// pushControl judges every address just before it is connected to.
func pushControl(allowPrivate bool) func(network, address string, _ syscall.RawConn) error {
	public := ssrf.New()
	return func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: not an address and a port", ErrPushAddress)
		}
		a := to.Addr().Unmap().WithZone("")
		if allowPrivate && (a.IsPrivate() || a.IsLoopback()) {
			return nil
		}
		if err := public.SafeAddr(a); err != nil {
			return fmt.Errorf("%w: %w", ErrPushAddress, err)
		}
		return nil
	}
}

// pushBody returns the signed body of a push: fields are the members of a JSON
// object, without its braces.
func pushBody(secret, path, appKey string, at int64, fields []byte) ([]byte, error) {
	b := append([]byte{'{'}, fields...)
	if len(fields) > 0 {
		b = append(b, ',')
	}
	b, _ = jsontext.AppendQuote(append(b, `"AppKey":`...), appKey) // a key is ASCII
	b = strconv.AppendInt(append(b, `,"Timestamp":`...), at, 10)
	return openapi.SignBody(secret, path, append(b, '}'), openapi.PlainAmpersand)
}

// send makes one attempt. The error says in a few words why the push was not
// received, and holds nothing of what the receiver sent.
func (p *Pusher) send(ctx context.Context, appKey, address string, fields []byte) error {
	u, err := parsePushAddress(address)
	if err != nil {
		return err
	}
	key, err := p.service.access(ctx, appKey)
	if err != nil || len(key.secrets) == 0 {
		return fmt.Errorf("the key cannot sign: %w", errors.Join(ErrPushKey, err))
	}
	body, err := pushBody(key.secrets[0], pushPath(u), appKey, p.service.unix(), fields)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.config.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return &ConfigError{"URL", "not usable for a request"}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "orderwire-network")
	res, err := p.http.Do(req)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("no answer within %s", p.config.Timeout)
	case err != nil:
		return withoutAddress(err)
	}
	defer res.Body.Close()
	return received(res)
}

// received judges a receiver's answer.
func received(res *http.Response) error {
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxPushAnswer))
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the receiver answered HTTP %d", res.StatusCode)
	}
	if err != nil {
		return errors.New("the answer broke off")
	}
	switch strings.TrimSpace(string(answer)) {
	case "1", "0":
		return nil
	case "-1":
		return errNotReceived
	default:
		return errors.New("the answer is none of 1, 0 and -1")
	}
}

// withoutAddress takes the address off an error of net/http.
func withoutAddress(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// pushReason is the text of a failure for the database.
func pushReason(err error) string {
	text := strings.ToValidUTF8(err.Error(), "?")
	if len(text) > maxPushReason {
		text = strings.ToValidUTF8(text[:maxPushReason], "") // the cut may go through a character
	}
	return text
}
