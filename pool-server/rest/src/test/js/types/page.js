// SPDX-License-Identifier: Apache-2.0
/**
 * @fileoverview Types of the page's own values. Types of the REST interface's resources, such as
 * `rest.Lease`, are generated from the OpenAPI document. Only the type check reads either.
 * @externs
 */

/** @type {!Storage} */
var sessionStorage;

/** @const */
var page = {};

/**
 * An element of the page as Preact describes it.
 *
 * @interface
 */
page.Element = function () {};

/** @typedef {{redraw: function(): void}} */
page.DrawContext;

/**
 * A view; `open` shows the dialog of the resource with an id, or closes it if the id is empty.
 *
 * @record
 */
page.View = function () {};
/** @type {string} */
page.View.prototype.title;
/** @type {function(?, !page.DrawContext): !Array<*>} */
page.View.prototype.draw;
/** @type {((function(?, string): void)|undefined)} */
page.View.prototype.open;

/**
 * A resource as the server sent it last; `seenAt` is the time of that, so that ages can go on.
 *
 * @typedef {{resource: ?, seenAt: number, stream: number}}
 */
page.Seen;

/** @typedef {{x: function(number): number, y: function(number): number}} */
page.PlotScale;

/** @typedef {{memoryBytes: number, computePercent: number}} */
page.Size;

/** @typedef {{lease: !rest.Lease, use: !rest.GrantUse}} */
page.Share;

/** @typedef {{partition: !rest.Partition, shares: !Array<!page.Share>}} */
page.PartitionShares;

/**
 * A GPU with its partitions; `loose` are the shares outside all partitions.
 *
 * @typedef {{
 *   gpu: !rest.Gpu,
 *   partitions: !Array<!page.PartitionShares>,
 *   loose: !Array<!page.Share>,
 * }}
 */
page.Card;

/** @typedef {{live: boolean, reason: string, againAt: number}} */
page.Connection;

/** @typedef {{number: number, at: number, kind: string, id: string, text: string}} */
page.Event;

/**
 * The sentences about resources of a kind.
 *
 * @typedef {{
 *   added: function(?): string,
 *   removed: function(?): string,
 *   changed: ((function(?, ?): (string|boolean))|undefined),
 * }}
 */
page.Tellers;

/** @typedef {{key: string, at: number, text: string}} */
page.Moment;

/** @typedef {{field: string, time: boolean}} */
page.Measure;

/**
 * The part of a history that belongs to one lease; `of` returns its value in a sample.
 *
 * @record
 */
page.Series = function () {};
/** @type {string} */
page.Series.prototype.id;
/** @type {(string|undefined)} */
page.Series.prototype.tenant;
/** @type {(string|undefined)} */
page.Series.prototype.program;
/** @type {(string|undefined)} */
page.Series.prototype.holder;
/** @type {(number|string|undefined)} */
page.Series.prototype.colour;
/** @type {function(number, !page.Measure): number} */
page.Series.prototype.of;

/** @typedef {{againAt: number, history: (!rest.GpuHistory|undefined), fault: (string|undefined)}} */
page.KnownHistory;

/**
 * A quantity that a bar shows: its total on a GPU, in a partition, in a share, and the used part.
 *
 * @typedef {{
 *   whole: function(!rest.Gpu): number,
 *   part: function(!rest.Partition): number,
 *   share: function(!rest.GrantUse): number,
 *   used: function(!rest.GrantUse): number,
 * }}
 */
page.BarMeasure;

/**
 * @typedef {{
 *   title: string,
 *   explanation: string,
 *   measure: !page.Measure,
 *   line: (!page.Measure|undefined),
 *   top: number,
 *   unit: function(number): string,
 *   words: string,
 * }}
 */
page.PlotOptions;

/**
 * A column that a field declares; `unit` is the form of its values, and `grows` tells that they do.
 *
 * @typedef {{field: string, head: string, unit: string, number: boolean, grows: boolean}}
 */
page.DeclaredColumn;

/**
 * A table's column. Columns with `order` can be sorted by; an `action` column holds buttons.
 *
 * @record
 * @template T
 */
page.Column = function () {};
/** @type {string} */
page.Column.prototype.head;
/** @type {function(T): *} */
page.Column.prototype.cell;
/** @type {((function(T): (number|string))|undefined)} */
page.Column.prototype.order;
/** @type {(string|undefined)} */
page.Column.prototype.class;
/** @type {(boolean|undefined)} */
page.Column.prototype.action;

/**
 * @record
 * @template T
 */
page.TableOptions = function () {};
/** @type {string} */
page.TableOptions.prototype.name;
/** @type {!Array<!page.Column<T>>} */
page.TableOptions.prototype.columns;
/** @type {function(T): string} */
page.TableOptions.prototype.key;
/** @type {function(T): !Array<string>} */
page.TableOptions.prototype.filter;
/** @type {string} */
page.TableOptions.prototype.empty;

/** @typedef {{close: function(): void, redraw: function(): void, isOpen: function(): boolean}} */
page.Dialog;

/**
 * @typedef {{
 *   title: string,
 *   draw: function(!page.Dialog): *,
 *   onClose: ((function(): void)|undefined),
 *   wide: (boolean|undefined),
 * }}
 */
page.DialogOptions;

/**
 * @typedef {{
 *   title: string,
 *   draw: function((!HTMLFormElement|undefined)): *,
 *   label: string,
 *   danger: (boolean|undefined),
 *   submit: function(!FormData): !Promise<void>,
 *   onClose: ((function(): void)|undefined),
 *   cancel: (string|undefined),
 *   wide: (boolean|undefined),
 * }}
 */
page.FormOptions;

/**
 * @typedef {{
 *   title: string,
 *   consequence: string,
 *   label: string,
 *   keep: (string|undefined),
 *   submit: function(): !Promise<void>,
 * }}
 */
page.ConfirmOptions;

/**
 * A labelled control; further properties are those of its element.
 *
 * @record
 */
page.FieldOptions = function () {};
/** @type {string} */
page.FieldOptions.prototype.label;
/** @type {string} */
page.FieldOptions.prototype.name;
/** @type {(string|undefined)} */
page.FieldOptions.prototype.hint;
/** @type {(string|undefined)} */
page.FieldOptions.prototype.unit;
/** @type {(string|undefined)} */
page.FieldOptions.prototype.value;
/** @type {(!Array<!Array<string>>|undefined)} */
page.FieldOptions.prototype.options;

/**
 * @typedef {{
 *   body: (?|undefined),
 *   headers: (!Object<string, string>|undefined),
 *   signal: (!AbortSignal|undefined),
 * }}
 */
page.RequestOptions;

/**
 * @typedef {{
 *   onState: function(!page.Connection): void,
 *   onBegin: function(): void,
 *   onChange: function(!rest.Change): void,
 * }}
 */
page.Follower;
