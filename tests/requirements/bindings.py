"""Every MUST and MUST NOT that a server has to keep, beside the tests that fail when it is broken.

TESTS: (ids, tests). A test is module.Class.method below `tests`; "module.Class" stands for all of its tests. Ids are
those of the requirements table; "HTTP-35..39" is a range. A rule is broken only if one of its tests fails, so a rule
with two halves (both ends of the wire, say) names a test for each.

REASONS: (ids, why the rule has no test here). What both lists hold is a rule with a part that is tested.
"""

from typing import List, Tuple

Rows = List[Tuple[str, str]]

BASE: Rows = [
    ("BASE-01", "test_rules_base.Messages test_mrtr.Rounds.test_two_rounds_with_the_newest_answers_only "
                "test_subscriptions.Core.test_acknowledged_first_with_what_is_honoured test_ladder.Rungs.test_version"),
    ("BASE-02", "test_rules_base.Messages test_ladder.Rungs.test_framing "
                "test_client.Requests.test_a_request_on_the_wire"),
    ("BASE-06 BASE-12", "test_ladder.Rungs.test_an_id_is_echoed_exactly test_ladder.Rungs.test_framing"),
    ("BASE-06..08", "test_rules_base.Messages.test_every_result_is_a_well_formed_response"),
    ("BASE-09", "test_client.Answers.test_what_is_no_response_to_the_request "
                "test_client_rounds.Rounds.test_each_leg_has_only_its_own_answers_and_state"),
    ("BASE-12..14", "test_rules_base.Messages.test_every_error_is_a_well_formed_response"),
    ("BASE-13", "test_rules_base.Codes.test_a_message_is_a_text"),
    ("BASE-14 BASE-18 BASE-20 BASE-22", "test_rules_base.Codes.test_reserved_and_retired_codes_are_never_sent"),
    ("BASE-19", "test_rules_base.Codes.test_each_defined_code_has_one_condition"),
    ("BASE-20", "test_resources.Reading.test_not_found"),
    ("BASE-24", "test_ladder.Rungs.test_a_notification_is_accepted_and_never_answered "
                "test_client_network.Streams.test_progress_of_this_request_alone"),
    ("BASE-25", "test_rules_base.Messages.test_what_comes_ahead_is_notifications_alone "
                "test_rules_base.Messages.test_a_subscription_sends_notifications_alone_and_its_result"),
    ("BASE-26", "test_rules_base.Statelessness"),
    ("BASE-30", "test_mrtr.State.test_two_processes_with_one_key_and_a_restart "
                "test_resources.Pages.test_all_pages_have_the_same_scope"),
    ("BASE-33", "test_json_schema.Semantics"),
    ("BASE-33 BASE-36", "test_json_schema.Dialects.test_default_and_named"),
    ("BASE-37", "test_json_schema.Dialects.test_draft_07 test_json_schema.Dialects.test_default_and_named"),
    ("BASE-38", "test_json_schema.Dialects.test_unsupported test_tools.Definitions.test_definitions_that_break_a_rule"),
    ("BASE-40", "test_tools.Definitions.test_definitions_that_break_a_rule "
                "test_mrtr.Capabilities.test_a_form_that_breaks_the_rules_of_forms_is_the_servers_fault"),
    ("BASE-41 BASE-42", "test_json_schema.Refusals.test_references_are_never_fetched"),
    ("META-01", "test_rules_base.Meta.test_nothing_is_assumed_of_values_at_reserved_keys"),
    ("META-02 META-03 META-05", "test_rules_base.Meta.test_keys_of_ours_obey_the_grammar "
                                "test_rules_base.Meta.test_keys_that_a_client_sends_do_too"),
    ("META-08 META-09", "test_ladder.Rungs.test_version test_ladder.Rungs.test_meta"),
    ("META-11..13", "test_mrtr.Capabilities.test_each_kind"),
    ("META-17", "test_subscriptions.Core.test_only_what_was_asked_for "
                "test_subscriptions.Core.test_acknowledged_first_with_what_is_honoured"),
    ("META-18 META-19", "test_rules_base.Meta.test_a_trace_context_that_is_malformed_is_not_sent "
                        "test_request_scoped.Trace"),
    ("VERS-01", "test_ladder.Rungs.test_version test_ladder.Rungs.test_stdio_climbs_without_door_accept_and_mirrors"),
    ("VERS-04 DISC-01", "test_tools.Definitions.test_discover "
                        "test_ladder.Rungs.test_supported_is_what_discover_says_and_each_is_served"),
    ("VERS-05", "test_author.Extensions"),
    ("VERS-06", "test_rules_base.Extensions"),
    ("TRANS-01", "test_ladder.Rungs.test_framing test_rules_base.Messages.test_what_is_sent_is_utf_8 "
                 "test_client.Answers.test_what_is_no_response_to_the_request"),
    ("TRANS-02", "test_client.AgainstTheServer test_http_server.Framing.test_a_notification_has_no_body"),
    ("TRANS-03", "test_client.AgainstTheServer "
                 "test_subscriptions.Streams.test_more_streams_than_connections_and_none_is_lost"),
]

HTTP: Rows = [
    ("HTTP-01", "test_ladder.Rungs.test_door test_http_server.Framing.test_keep_alive_and_pipelining"),
    ("HTTP-02 HTTP-03", "test_ladder.Rungs.test_door test_ladder.Hosts.test_origins "
                        "test_authorization.Metadata.test_host_and_origin_are_the_doors"),
    ("HTTP-12", "test_ladder.Rungs.test_a_notification_is_accepted_and_never_answered "
                "test_http_server.Framing.test_a_notification_has_no_body"),
    ("HTTP-13", "test_ladder.Rungs.test_a_bad_notification_has_no_id_in_its_answer"),
    ("HTTP-14", "test_http_server.Streams.test_progress_then_the_response_then_the_end "
                "test_http_server.Streams.test_without_a_token_there_is_no_stream"),
    ("HTTP-16", "test_rules_streams.Streams.test_a_stream_has_what_concerns_its_own_request"),
    ("HTTP-17", "test_rules_streams.Streams.test_no_request_is_ever_sent "
                "test_rules_base.Messages.test_what_comes_ahead_is_notifications_alone"),
    ("HTTP-20", "test_http_server.Leaving.test_a_client_that_goes_away_cancels_its_request "
                "test_subscriptions.Streams.test_a_client_that_leaves_is_forgotten"),
    ("HTTP-22", "test_rules_streams.Streams.test_after_a_disconnect_nothing_more_is_sent "
                "test_rules_streams.Streams.test_what_a_cancelled_handler_sends_ends_it"),
    ("HTTP-25 HTTP-26 HTTP-28 HTTP-79", "test_ladder.Rungs.test_version"),
    ("HTTP-27", "test_ladder.Rungs.test_method"),
    ("HTTP-35..39 HTTP-41 HTTP-42 TOOL-22..26 TOOL-28", "test_mirrors.Annotations.test_rules"),
    ("HTTP-35..39 HTTP-41 HTTP-42 TOOL-22..26 TOOL-28",
     "test_mirrors.Annotations.test_a_server_refuses_such_a_tool_at_registration"),
    ("HTTP-40 TOOL-27", "test_mirrors.Client.test_what_no_header_can_carry "
                        "test_client.Mirrors.test_integers_out_of_range test_mirrors.ServerSide.test_differences"),
    ("HTTP-52 HTTP-54 HTTP-83", "test_mirrors.ServerSide.test_equal_values_pass "
                                "test_mirrors.ServerSide.test_a_name_that_is_not_ascii"),
    ("HTTP-64..66 HTTP-68 HTTP-73 HTTP-84", "test_mirrors.ServerSide.test_differences "
                                            "test_mirrors.ServerSide.test_a_nested_parameter_counts_like_any_other"),
    ("HTTP-70 HTTP-72", "test_mirrors.ServerSide.test_null_and_absent_need_no_header"),
    ("HTTP-74", "test_http_server.Framing.test_white_space_and_case_of_field_names "
                "test_client.Answers.test_json_with_parameters_and_odd_case"),
    ("HTTP-75 HTTP-77 HTTP-78 HTTP-80..82", "test_ladder.Rungs.test_mirrors "
                                         "test_ladder.Rungs.test_the_name_of_each_method_that_has_one"),
    ("HTTP-75 HTTP-77 HTTP-78 HTTP-82", "test_mirrors.ServerSide.test_differences test_ladder.Rungs.test_version"),
    ("HTTP-84", "test_mirrors.ServerSide.test_degenerate_names test_mirrors.ServerSide.test_a_name_that_is_not_ascii"),
]

PATTERNS: Rows = [
    ("PATT-01 MRTR-01", "test_rules_streams.Streams.test_no_request_is_ever_sent "
                        "test_rules_base.Messages.test_what_comes_ahead_is_notifications_alone"),
    ("MRTR-01", "test_mrtr.Rounds.test_several_questions_in_one_round"),
    ("MRTR-04", "test_completion.Completers.test_what_is_the_servers_fault "
                "test_mrtr.Capabilities.test_only_on_the_methods_that_may_ask"),
    ("MRTR-05", "test_rules_client.Elicitation.test_a_key_is_a_text"),
    ("MRTR-06", "test_rules_client.Elicitation.test_what_is_no_request_is_not_sent "
                "test_mrtr.Capabilities.test_a_request_of_another_method_is_never_sent"),
    ("MRTR-07", "test_mrtr.State.test_hostile_states test_mrtr.Rounds.test_malformed_members "
                "test_state_sealer.Sealer.test_the_payload_is_not_read_before_the_mac"),
    ("MRTR-08 MRTR-28", "test_state_sealer.Sealer.test_every_single_change_is_noticed"),
    ("MRTR-09 MRTR-28", "test_mrtr.State test_state_sealer.Sealer.test_what_is_no_token"),
    ("MRTR-14", "test_mrtr.Rounds.test_state_alone test_mrtr.Rounds.test_two_rounds_with_the_newest_answers_only"),
    ("MRTR-15 MRTR-16", "test_mrtr.Capabilities.test_each_kind test_prompts.Asking.test_a_capability_that_is_missing "
                        "test_resources.Asking.test_a_capability_that_is_missing"),
    ("MRTR-17", "test_mrtr.State.test_two_processes_with_one_key_and_a_restart "
                "test_mrtr.Rounds.test_missing_answers_are_asked_for_again_and_others_ignored"),
    ("CANC-03 CANC-14", "test_rules_base.Messages.test_a_subscription_sends_notifications_alone_and_its_result "
                        "test_rules_base.Messages.test_what_comes_ahead_is_notifications_alone"),
    ("CANC-04", "test_http_server.Leaving.test_a_client_that_goes_away_cancels_its_request"),
    ("CANC-19", "test_rules_streams.Streams.test_a_cancellation_that_comes_too_late_does_no_harm "
                "test_http_server.Leaving.test_resets_leave_no_trace"),
    ("PROG-03", "test_request_scoped.Progress.test_strictly_increasing_and_tagged "
                "test_http_server.Streams.test_progress_then_the_response_then_the_end"),
    ("PROG-05", "test_rules_streams.Progress.test_only_the_token_of_the_request_is_used "
                "test_rules_streams.Streams.test_a_stream_has_what_concerns_its_own_request"),
    ("PROG-06 PROG-09", "test_request_scoped.Progress.test_nothing_after_the_answer"),
    ("SUBS-01", "test_subscriptions.Core.test_only_what_was_asked_for"),
    ("SUBS-02 SUBS-03", "test_subscriptions.Core.test_acknowledged_first_with_what_is_honoured "
                        "test_subscriptions.Core.test_nothing_between_the_ack_and_the_registration_is_lost"),
]

SERVER: Rows = [
    ("PROMPT-02 PROMPT-03", "test_prompts.Lists.test_capability_and_list "
                            "test_rules_server.Lists.test_each_capability_comes_with_its_lists"),
    ("PROMPT-03 RES-03", "test_scopes.ScopesElsewhere.test_lists"),
    ("PROMPT-04 PROMPT-05 RES-04 RES-05 TOOL-08 TOOL-09",
     "test_rules_server.Lists.test_neither_connection_nor_other_requests_alter_a_list"),
    ("PROMPT-07 PROMPT-09", "test_rules_server.PromptContent.test_data_is_base64 test_prompts.Messages.test_shapes "
                            "test_rules_server.PromptContent.test_what_is_sent"),
    ("PROMPT-08 PROMPT-10", "test_rules_server.PromptContent.test_a_mime_type_is_one"),
    ("PROMPT-11..13", "test_rules_server.PromptContent.test_an_embedded_resource_is_whole "
                      "test_rules_server.PromptContent.test_what_is_sent"),
    ("RES-02", "test_resources.Lists.test_capability test_resources.Lists.test_templates_alone_make_the_capability"),
    ("RES-03", "test_resources.Lists.test_resources test_rules_server.Lists.test_each_capability_comes_with_its_lists"),
    ("RES-09", "test_resources.Definitions.test_what_is_refused test_uri_template.Uris.test_is_uri"),
    ("RES-10 RES-13", "test_resources.Reading.test_not_found"),
    ("RES-14", "test_resources.Reading.test_uri_must_be_a_text test_resources.Reading.test_not_found "
               "test_subscriptions.Core.test_acknowledged_first_with_what_is_honoured"),
    ("RES-16", "test_resources.Reading.test_octets_in_standard_base64 "
               "test_resources.Contents.test_what_is_no_contents_is_the_servers_fault"),
    ("RES-18", "test_files.WaysOut"),
    ("TOOL-06 TOOL-07", "test_tools.Definitions.test_removed_and_added_while_serving "
                        "test_rules_server.Lists.test_each_capability_comes_with_its_lists"),
    ("TOOL-07", "test_tools.Definitions.test_listed_as_registered "
                "test_scopes.Scopes.test_lists_show_what_the_token_permits_and_are_private"),
    ("TOOL-13", "test_tools.Definitions.test_definitions_that_break_a_rule "
                "test_tools.Definitions.test_listed_as_registered"),
    ("TOOL-35", "test_tools.Results.test_structured_content_that_breaks_its_schema_is_never_sent"),
    ("TOOL-38", "test_tools.Arguments"),
    ("TOOL-40 COMP-15", "test_request_scoped.Limits"),
    ("CACHE-01..06", "test_rules_server.Lists.test_every_list_and_read_has_its_caching_hints"),
    ("CACHE-13", "test_tools.Definitions.test_hints_are_configured_and_checked "
                 "test_resources.Definitions.test_what_is_refused"),
    ("CACHE-22 CACHE-23", "test_rules_server.Lists.test_pages_of_a_private_list_are_all_private "
                          "test_resources.Pages.test_all_pages_have_the_same_scope "
                          "test_scopes.Scopes.test_lists_show_what_the_token_permits_and_are_private"),
    ("COMP-02", "test_completion.Capability"),
    ("COMP-14", "test_completion.Completing.test_malformed test_completion.Completing.test_context_is_checked "
                "test_completion.Completing.test_what_does_not_exist"),
    ("LOG-03", "test_request_scoped.Logs.test_the_capability_is_declared"),
    ("LOG-04", "test_request_scoped.Logs.test_only_at_or_above_the_level_that_was_asked_for"),
    ("LOG-05", "test_rules_streams.Streams.test_log_messages_stay_off_subscriptions"),
    ("LOG-06", "test_rules_streams.Streams.test_a_stream_has_what_concerns_its_own_request"),
]

CLIENT: Rows = [
    ("ELIC-10", "test_mrtr.Capabilities.test_each_kind"),
    ("ELIC-11", "test_rules_client.Elicitation.test_a_mode_is_form_or_url"),
    ("ELIC-12 ELIC-14 ELIC-15", "test_rules_client.Elicitation.test_a_form_has_a_message_and_an_object_schema "
                                "test_mrtr.Rounds.test_the_request_as_it_goes_out"),
    ("ELIC-12 ELIC-17..20", "test_rules_client.Elicitation.test_a_url_has_a_message_and_a_valid_url"),
    ("ELIC-24", "test_authorization.Principals "
                "test_authorization.Tokens.test_principal_is_the_claims_and_the_token_is_gone"),
    ("ELIC-31 ELIC-32", "test_mrtr.Rounds.test_decline_and_cancel"),
    ("ELIC-33", "test_rules_client.Failing test_mrtr.Rounds.test_answers_are_validated"),
    ("ELIC-34", "test_authorization.Principals test_mrtr.State.test_principal"),
    ("SAMP-08", "test_mrtr.Capabilities.test_each_kind"),
    ("SAMP-12 SAMP-27", "test_rules_client.Sampling.test_tool_results_stand_alone"),
    ("SAMP-13 SAMP-14 SAMP-26", "test_rules_client.Sampling.test_each_tool_use_is_answered_by_the_next_message"),
    ("SAMP-17 SAMP-18", "test_rules_client.Sampling.test_a_message_has_a_role_and_content "
                        "test_mrtr.Rounds.test_other_answers_are_validated"),
    ("SAMP-17 SAMP-18", "test_client_rounds.Rounds.test_a_url_a_sampling_and_roots_in_one_round"),
]

AUTHORIZATION: Rows = [
    ("AUTH-07 AUTH-11 ASDISC-01 ASDISC-02", "test_authorization.Metadata.test_document "
                                            "test_authorization.Metadata.test_what_cannot_be_used"),
    ("AUTH-42 AUTH-46 AUTHSEC-32", "test_authorization.Tokens.test_no_token test_authorization.Tokens.test_good_tokens "
                                   "test_authorization.Tokens.test_token_in_the_query"),
    ("AUTH-46..49 AUTHSEC-32", "test_authorization.Tokens.test_what_is_wrong_with_a_token_is_not_told"),
    ("AUTH-47 AUTH-51 AUTH-52 AUTHSEC-04 AUTHSEC-30 AUTHSEC-33 AUTHSEC-34",
     "test_authorization.Tokens.test_what_is_wrong_with_a_token_is_not_told "
     "test_introspection.Introspected.test_audience"),
    ("AUTH-49", "test_authorization.OverSockets"),
    ("AUTH-59 AUTH-60", "test_authorization.OverSockets test_authorization.Tokens.test_no_token "
                        "test_scopes.Scopes.test_every_request_needs_the_servers_scopes"),
    ("AUTH-60", "test_scopes.Scopes.test_a_tool_needs_its_own_as_well test_scopes.ScopesElsewhere.test_use"),
    ("AUTH-61", "test_authorization.Tokens.test_two_headers_are_malformed "
                "test_authorization.Tokens.test_token_in_the_query"),
    ("AUTH-78", "test_scopes.Scopes.test_broader_scope_implies_narrower"),
    ("ASDISC-05", "test_authorization.Metadata.test_document test_authorization.Tokens.test_no_token"),
    ("AUTHSEC-30", "test_authorization.Tokens.test_before_the_body_and_after_the_door"),
    ("AUTHSEC-31", "test_scopes.ScopesElsewhere "
                   "test_scopes.Scopes.test_lists_show_what_the_token_permits_and_are_private "
                   "test_authorization.Tokens.test_notifications_need_a_token_too "
                   "test_authorization.Principals.test_request_state_of_another"),
]

TESTS: Rows = BASE + HTTP + PATTERNS + SERVER + CLIENT + AUTHORIZATION

REASONS: Rows = [
    ("STDIO-01 STDIO-03 STDIO-08 STDIO-11", "stdio transport: not served by this package yet"),
    ("CANC-02", "stdio transport: not served by this package yet; over HTTP the listen result and the end of the "
                "stream end a subscription, since the schema has a server send notifications/cancelled on stdio alone"),
    ("TRANS-04..06", "custom transports: this package has none"),
    ("MRTR-13", "single use: no requestState of this package needs it; a handler whose own state does sees to it"),
]
