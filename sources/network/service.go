package network

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Service is the network's own service. It may be used from any number of
// goroutines.
type Service struct {
	config     Config
	store      *store
	clicks     *clickLog
	bookmarks  bookmarks
	operations map[string]sides // by service name
	places     chan struct{}    // one for each request under way
	basePath   string           // of the configuration's BaseURL, escaped
	taken      *takenSet        // nil when replays are taken
}

// Open opens the database and brings its tables up to date. The error wraps a
// [*ConfigError] when the configuration is wrong. Close the service after use.
func Open(ctx context.Context, config Config) (*Service, error) {
	config = config.complete()
	if err := config.check(); err != nil {
		return nil, err
	}
	s := &Service{config: config, places: make(chan struct{}, config.MaxConcurrent), basePath: config.basePath()}
	if config.RefuseReplays {
		s.taken = newTakenSet(config.TimestampWindow)
	}
	var err error
	if s.store, err = openStore(ctx, config.DB, s.unix); err != nil {
		return nil, err
	}
	if s.config.TimeZone, err = s.store.alignDays(ctx, config.TimeZone, config.Logger); err != nil {
		return nil, errors.Join(err, s.store.close())
	}
	s.clicks = newClickLog(ctx, s.store, config.Logger)
	s.operations = map[string]sides{
		s.name("service.links.post"):                 {publisher: s.postLink},
		s.name("service.orders.post"):                {advertiser: s.reportOrder},
		s.name("open-service.orders.query.get"):      {publisher: s.queryOrders, advertiser: s.brandOrders},
		s.name("open-service.orders.detail.get"):     {publisher: s.orderDetail, advertiser: s.brandOrder},
		s.name("open-service.orders.settlement.get"): {publisher: s.querySettlements},
		s.name("open-service.programs.query.get"):    {publisher: s.queryPrograms, advertiser: s.queryPrograms},
		s.name("open-service.programs.detail.get"):   {publisher: s.programDetail},
		s.name("open-service.materials.query.get"):   {publisher: s.queryMaterials},
		s.name("open-service.statistics.get"):        {publisher: s.statistics},
	}
	return s, nil
}

// name is the service name of an operation.
func (s *Service) name(operation string) string { return s.config.ServicePrefix + "." + operation }

// Close writes the clicks that are left and closes the database. Requests that are still under way fail; shut the
// HTTP server down before.
func (s *Service) Close() error {
	s.clicks.close()
	return s.store.close()
}

// Handler answers the API: POST {KEY}/{SERVICE}, and GET c/{LinkId} for the
// links that links.post hands out. The context of a request bounds its work;
// the server that runs the handler should bound how long a request may take to
// arrive, because a slow one keeps its place (see [Config.MaxConcurrent]).
func (s *Service) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// unix is the service's clock in Unix seconds.
func (s *Service) unix() int64 { return s.config.Now().Unix() }

// clockDistance is how far t, in Unix seconds, is from the service's clock.
func (s *Service) clockDistance(t int64) time.Duration {
	d := s.unix() - t
	const most = int64(1<<63-1) / int64(time.Second)
	return time.Duration(min(max(d, -d), most)) * time.Second
}
