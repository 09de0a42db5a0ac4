// The hidden registry that the classic scripts of page/ share, file by file.

interface BrightObservation {
  surface: string;
  [field: string]: unknown;
}

interface BrightSurface {
  surface: string;
  html: boolean;
  id(row: any): unknown;
  conversation(row: any): unknown;
  time(row: any): unknown;
  sender(row: any): unknown;
  saysOutbound(row: any): boolean;
  kindNumbers(row: any): unknown[];
  text(row: any): unknown;
  body(row: any): unknown;
  quote(row: any): unknown;
  recalled(row: any): boolean;
}

interface BrightHistoryPage {
  surface: string;
  observations: BrightObservation[];
  reportedNext: number | null;
  hasMore: boolean | null;
}

interface BrightHistoryAsk {
  conversationId: string;
  cursor: number | null;
  count: number;
  timeoutMs: number;
}

interface BrightListed {
  conversationId: string;
  latestMessageAtMs: number | null;
  title?: string;
  contact?: { aliId: string; profile: BrightProfile };
}

interface BrightProfile {
  name?: string;
  companyName?: string;
  loginId?: string;
  country?: string;
  level?: string;
  portrait?: string;
}

interface BrightCard {
  messageId: string;
  conversationId: string;
  sentAtMs: number;
  cardKind: string;
  content: { title: string; lines: string[] };
}

interface BrightFacts {
  conversationId: string;
  facts: Record<string, unknown>;
}

interface BrightPage {
  PageFault: new (code: string, message: string) => Error & { code: string };
  text: {
    storable(text: string): string;
    fromHtml(html: string): string;
    deepStorable(value: unknown): unknown;
  };
  fields: {
    isObject(value: unknown): value is Record<string, any>;
    first(...values: unknown[]): unknown;
    messageId(value: unknown): string | undefined;
    conversationId(value: unknown): string | undefined;
    personId(value: unknown): string | undefined;
    timeMs(value: unknown): number | undefined;
    number(value: unknown): number | undefined;
  };
  content: {
    opened(value: unknown): unknown;
    kindOf(numbers: unknown[], cardType: unknown): string;
    kept(kind: string, body: unknown): Record<string, unknown>;
  };
  messages: {
    ownIds: Set<string>;
    account(): string | undefined;
    isOwn(id: string): boolean;
    rememberOwn(value: unknown): void;
    observe(
      row: unknown,
      surface: BrightSurface,
      asked?: { conversationId?: string; outbound?: boolean },
    ): BrightObservation;
    extensionOf(row: any): Record<string, any>;
  };
  profiles: {
    isDetailed(contact: unknown): boolean;
    read(row: any, contact: any, before?: BrightProfile): BrightProfile;
  };
  adapters: {
    chatMessageList: BrightHistoryAdapter;
    listRecentMessage: BrightHistoryAdapter;
    sdkHistory: BrightHistoryAdapter;
    sdkSend: {
      send(ask: {
        conversationId: string;
        text: string;
        timeoutMs: number;
      }): Promise<{ isAnswered: boolean; trouble: string | null }>;
    };
    route: {
      read(): {
        route: string;
        conversationId: string | null;
        routeReason: string | null;
      };
    };
    eventBus: {
      isMessageEvent(name: unknown): boolean;
      read(name: string, payload: unknown): BrightObservation[];
      path: string[];
    };
    conversationLists: {
      read(
        timeoutMs: number,
      ): Promise<{ isWhole: boolean; conversations: BrightListed[] }>;
      take(rows: unknown): void;
      takeUnread(answer: unknown): void;
      isAny(): boolean;
      handles(conversationId: string): Record<string, any>;
      ofAccount(accountIdEncrypt: string): string | undefined;
    };
    renderedCards: {
      remember(asked: string | null, observed: any[]): void;
      look(): { cards: BrightCard[]; isSettled: boolean };
      watch(onCards: (cards: BrightCard[]) => void): void;
    };
    condition: {
      note(call: string, code: string | null): void;
      read(): string[];
    };
    customerCard: {
      read(answer: unknown, accountId: string): BrightFacts | null;
      watch(onFacts: (facts: BrightFacts) => void): void;
    };
  };
  http: {
    fetch: typeof fetch;
    postForm(
      path: string,
      fields: Record<string, string>,
      timeoutMs: number,
    ): Promise<any>;
    get(path: string, timeoutMs: number): Promise<any>;
    csrf(timeoutMs: number): Promise<string>;
    cookieTokens(): Record<string, string>;
    readAnswer(text: string): any;
  };
  within<T>(promise: Promise<T>, timeoutMs: number, what: string): Promise<T>;
  taps: {
    install(
      onRows: (conversationId: string | null, rows: BrightObservation[]) => void,
      onTapped: () => void,
    ): void;
  };
}

interface BrightHistoryAdapter {
  name: string;
  path?: string;
  available(): boolean;
  ask(ask: BrightHistoryAsk): Promise<BrightHistoryPage>;
  read(answer: unknown, conversationId?: string): BrightHistoryPage;
}
