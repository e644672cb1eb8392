// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command.notice;

import java.net.URI;
import java.time.InstantSource;

/** The clouds that announce to a machine that it is about to be taken away. */
public enum Cloud {
  aws,
  gcp,
  azure;

  /** The address of the metadata service in each of them. */
  public static final String SERVICE = "http://169.254.169.254";

  /**
   * Returns the notices of this cloud.
   *
   * @param service the address of the metadata service
   */
  public NoticeSource notices(URI service) {
    MetadataService asked = new MetadataService(service);
    return switch (this) {
      case aws -> new AwsNotices(asked);
      case gcp -> new GcpNotices(asked, InstantSource.system());
      case azure -> new AzureNotices(asked, InstantSource.system());
    };
  }
}
